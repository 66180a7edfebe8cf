import { fixedWindow, type TakeResult, withLeases } from '@tidegate/core'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { clientOf } from './redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from './redis-cluster.js'

// A limit for everyone with a lease, beside a limit of each user, whose slots are on different nodes of a cluster.

const LIMIT = 40
const everyone = fixedWindow({
  limit: 100_000,
  window: '366d',
  name: 'everyone',
  lease: { maxAge: '60s', share: 1 },
})
const perUser = fixedWindow({ limit: LIMIT, window: '366d', name: 'per-user' })

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 60_000 })
})
afterAll(() => cluster?.stop())

async function scriptCalls({ url, port }: RedisServer): Promise<number> {
  const client = clientOf({ url, port } as RedisServer)
  const stats = await client.info('commandstats')
  client.disconnect()
  return ['evalsha', 'eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
    0,
  )
}

it('a take of a leased limit and one of a user is one call to one node, all or nothing', async () => {
  const redis = new RedisStore(cluster.url, { denialCacheMs: 0, connectTimeoutMs: 20_000 })
  const store = withLeases(redis)
  try {
    const all = { policy: everyone, key: keyOn(0, everyone), cost: 1 }
    const take = (user: string): Promise<TakeResult> =>
      store.take([all, { policy: perUser, key: user, cost: 1 }])
    // Busy enough for a lease of hundreds of units. Every node has been called and tested.
    await Promise.all(Array.from({ length: 300 }, (_, i) => take(keyOn(i % 3, perUser, 1000 * (1 + i)))))
    for (let i = 0; i < 20; i++) await take(keyOn(1, perUser, 1_000_000))
    expect(store.leases.unitsInHand).toBeGreaterThan(2 * LIMIT)

    const user = keyOn(1, perUser)
    const before = await Promise.all(cluster.nodes.slice(0, 3).map(scriptCalls))
    const results: TakeResult[] = []
    for (let i = 0; i < LIMIT + 10; i++) results.push(await take(user))
    const after = await Promise.all(cluster.nodes.slice(0, 3).map(scriptCalls))
    expect(after.map((calls, node) => calls - before[node]!)).toStrictEqual([0, LIMIT + 10, 0])
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(LIMIT)
    expect(results.slice(-10).every(({ allowed }) => !allowed)).toBe(true)
  } finally {
    await store.close()
  }
})
