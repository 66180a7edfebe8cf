import { type RedisServer, startRedis } from './redis-server.js'
import { until } from './until.js'

/** Three primaries without replicas: what one of them held is lost with it, and nobody takes over. */
export interface RedisCluster {
  readonly url: string
  readonly nodes: readonly RedisServer[]
  /** Keys of a policy that live on the n-th node, so many. */
  keysOn(node: number, policy: string, count: number): Promise<string[]>
  stop(): Promise<void>
}

const PRIMARIES = 3
const SLOTS = 16_384
const ARGS = [
  ['--cluster-enabled', 'yes'],
  ['--cluster-node-timeout', '500'],
  // Otherwise a cluster with a part missing answers for none.
  ['--cluster-require-full-coverage', 'no'],
].flat()

export async function startCluster(): Promise<RedisCluster> {
  const starts = await Promise.allSettled(Array.from({ length: PRIMARIES }, () => startRedis(ARGS)))
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    if (nodes.length < PRIMARIES) throw new Error('a node of the cluster did not start')
    for (const [i, node] of nodes.entries()) {
      await node.ask(`CLUSTER SET-CONFIG-EPOCH ${i + 1}`)
      await node.ask(`CLUSTER ADDSLOTSRANGE ${firstSlotOf(i)} ${firstSlotOf(i + 1) - 1}`)
    }
    for (const { port } of nodes.slice(1)) await nodes[0]!.ask(`CLUSTER MEET 127.0.0.1 ${port}`)
    await until('every node to know all slots', () => areWell(nodes))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    async keysOn(wanted, policy, count) {
      const keys: string[] = []
      for (let i = 0; keys.length < count; i++) {
        const answer = await nodes[0]!.ask(`CLUSTER KEYSLOT rate_limiter:${policy}:key-${i}`)
        const slot = Number(/^:(\d+)/.exec(answer)?.[1])
        if (slot >= firstSlotOf(wanted) && slot < firstSlotOf(wanted + 1)) keys.push(`key-${i}`)
      }
      return keys
    },
    stop,
  }
}

/** Whether each of these sees all slots served. */
export async function areWell(nodes: readonly RedisServer[]): Promise<boolean> {
  const infos = await Promise.all(nodes.map((node) => node.ask('CLUSTER INFO').catch(() => '')))
  return infos.every(
    (info) => info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}\r`),
  )
}

function firstSlotOf(node: number): number {
  return Math.round((node * SLOTS) / PRIMARIES)
}
