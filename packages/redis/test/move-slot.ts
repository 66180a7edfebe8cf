import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import type { Redis } from 'ioredis'
import { clientOf } from './redis-clients.js'

/** Moves one slot of a cluster between two primaries, step by step. */
export interface SlotMove {
  /** Moves a key that exists. */
  moveKey(redisKey: string): Promise<void>
  /** Moves the keys that are left, and makes the other node the owner. */
  finish(): Promise<void>
}

export async function startMove(slot: number, from: RedisServer, to: RedisServer): Promise<SlotMove> {
  const [source, target] = [clientOf(from), clientOf(to)]
  const [sourceId, targetId] = await Promise.all([source, target].map(idOf))
  await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId!)
  await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId!)

  async function moveKeys(redisKeys: readonly string[]): Promise<void> {
    await source.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...redisKeys)
  }

  return {
    moveKey: (redisKey) => moveKeys([redisKey]),
    async finish() {
      for (;;) {
        const left = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
        if (left.length === 0) break
        await moveKeys(left)
      }
      // The new owner first, so that the slot always has one.
      await target.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId!)
      await source.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId!)
      // Otherwise a later move back could have the same epoch, and each node would redirect to the other.
      await until('the old owner to know the epoch of the new one', async () => {
        const [known, own] = [await source.cluster('INFO'), await target.cluster('INFO')]
        return epochIn(known, 'current_epoch') >= epochIn(own, 'my_epoch')
      })
      source.disconnect()
      target.disconnect()
    },
  }
}

function epochIn(info: unknown, field: string): number {
  return Number(new RegExp(`cluster_${field}:(\\d+)`).exec(String(info))![1])
}

async function idOf(client: Redis): Promise<string> {
  return String(await client.call('CLUSTER', 'MYID'))
}
