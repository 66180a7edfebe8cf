import { type RedisCluster, startCluster as start } from '@tidegate/fixtures/redis-cluster'

/** Three primaries without replicas. The long timeout keeps nodes under load from declaring each other dead. */
export function startCluster(): Promise<RedisCluster> {
  return start(['--cluster-node-timeout', '60000'])
}
