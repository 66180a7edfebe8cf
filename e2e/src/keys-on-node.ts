import { firstSlotOf, type RedisCluster } from '@tidegate/fixtures/redis-cluster'

/** `count` keys of a policy that are on the n-th node of a cluster. */
export async function keysOnNode(
  { nodes }: RedisCluster,
  node: number,
  policy: string,
  count: number,
): Promise<string[]> {
  const keys: string[] = []
  for (let i = 0; keys.length < count; i++) {
    const answer = await nodes[0]!.ask(`CLUSTER KEYSLOT rate_limiter:${policy}:key-${i}`)
    const slot = Number(/^:(\d+)/.exec(answer)?.[1])
    if (slot >= firstSlotOf(node) && slot < firstSlotOf(node + 1)) keys.push(`key-${i}`)
  }
  return keys
}
