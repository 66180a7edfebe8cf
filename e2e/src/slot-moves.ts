import { firstSlotOf, type RedisCluster } from '@tidegate/fixtures/redis-cluster'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'

/** Moves the slots of keys around a cluster, each to the next primary. */
export function slotMovesOf({ nodes }: RedisCluster) {
  const ownerOf = new Map<number, number>()

  async function idOf(node: RedisServer): Promise<string> {
    return /[0-9a-f]{40}/.exec(await node.ask('CLUSTER MYID'))![0]
  }

  return {
    /** Moves the slot of a key, which is the only key in it. */
    async move(redisKey: string): Promise<void> {
      const slot = Number(/^:(\d+)/.exec(await nodes[0]!.ask(`CLUSTER KEYSLOT ${redisKey}`))?.[1])
      const owner = ownerOf.get(slot) ?? nodes.findLastIndex((_, i) => slot >= firstSlotOf(i))
      const next = (owner + 1) % nodes.length
      const [source, target] = [nodes[owner]!, nodes[next]!]
      const targetId = await idOf(target)
      await target.ask(`CLUSTER SETSLOT ${slot} IMPORTING ${await idOf(source)}`)
      await source.ask(`CLUSTER SETSLOT ${slot} MIGRATING ${targetId}`)
      await until('the slot to be moved', async () => {
        await source.ask(`MIGRATE 127.0.0.1 ${target.port} ${redisKey} 0 5000`)
        return (await source.ask(`CLUSTER COUNTKEYSINSLOT ${slot}`)).startsWith(':0')
      })
      for (const node of [target, source]) await node.ask(`CLUSTER SETSLOT ${slot} NODE ${targetId}`)
      ownerOf.set(slot, next)
    },

    /** Makes a server a replica of a primary, and waits until it is in sync. */
    async addReplica(replica: RedisServer, primary: RedisServer): Promise<void> {
      for (const { port } of nodes) await replica.ask(`CLUSTER MEET 127.0.0.1 ${port}`)
      const id = await idOf(primary)
      await until('the replica to know its primary', async () =>
        (await replica.ask(`CLUSTER REPLICATE ${id}`)).startsWith('+OK'),
      )
      await until('the replica to be in sync', async () =>
        (await replica.ask('INFO replication')).includes('master_link_status:up'),
      )
    },
  }
}
