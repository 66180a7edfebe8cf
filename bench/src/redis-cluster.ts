import { type RedisCluster, startCluster as start } from '@tidegate/fixtures/redis-cluster'

/** Without replicas: what a check costs does not depend on them. Under load nobody should take another for dead. */
export function startCluster(): Promise<RedisCluster> {
  return start(['--cluster-node-timeout', '60000'])
}
