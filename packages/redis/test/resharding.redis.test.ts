import { once } from 'node:events'
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { pause, until } from '@tidegate/fixtures/until'
import calculateSlot from 'cluster-key-slot'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { startMove } from './move-slot.js'
import { clientOf, isPrimary } from './redis-clients.js'
import { type RedisCluster, startCluster } from './redis-cluster.js'
import { nameOf } from './use-redis.js'

const WINDOW = '366d'
const KEYS = 40
const LIMIT = 200
const WORKERS = 64

let cluster: RedisCluster
let ioredis: Cluster
let nodeRedis: ReturnType<typeof nodeRedisCluster>
let stores: RedisStore[]

const nodeRedisCluster = () =>
  createCluster({
    rootNodes: cluster.nodes.map(({ url }) => ({ url })),
    defaults: { disableOfflineQueue: true },
  })

beforeAll(async () => {
  // Long, so that a busy machine does not cause a promotion.
  cluster = await startCluster({ nodeTimeoutMs: 60_000 })
  ioredis = new Cluster(
    cluster.nodes.slice(0, 3).map(({ port }) => ({ host: '127.0.0.1', port })),
    { enableOfflineQueue: false, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 },
  )
  ioredis.on('error', () => {})
  await once(ioredis, 'ready')
  nodeRedis = nodeRedisCluster()
  nodeRedis.on('error', () => {})
  await nodeRedis.connect()
  // Long, because a node does not answer while it sends a key to a busy one.
  stores = [cluster.url, ioredis, nodeRedis].map(
    (client) => new RedisStore(client as never, { denialCacheMs: 0, connectTimeoutMs: 20_000 }),
  )
})
afterAll(async () => {
  for (const store of stores ?? []) await store.close()
  ioredis?.disconnect()
  nodeRedis?.destroy()
  await cluster?.stop()
})

function policiesNamed(name: string): Policy[] {
  return [
    fixedWindow({ limit: LIMIT, window: WINDOW, name: `${name}-fixed` }),
    // Long enough for its state to change from a string to a list.
    slidingWindowLog({ limit: LIMIT, window: WINDOW, name: `${name}-log` }),
    slidingWindowCounter({ limit: LIMIT, window: WINDOW, name: `${name}-counter` }),
    tokenBucket({ capacity: LIMIT, refillRate: '1/1d', name: `${name}-token` }),
    leakyBucket({ capacity: LIMIT, leakRate: '1/1d', name: `${name}-leaky` }),
  ]
}

interface Tally {
  policy: Policy
  key: string
  admitted: number
  failed: number
}

/** Checks of random keys and takes of two, by all stores, until it is stopped. */
function startLoad(name: string) {
  const tallies = policiesNamed(name).flatMap((policy) =>
    Array.from({ length: KEYS }, (_, i): Tally => ({ policy, key: `key-${i}`, admitted: 0, failed: 0 })),
  )
  const messages = new Map<string, number>()
  let isRunning = true
  let checks = 0
  const random = () => tallies[Math.floor(Math.random() * tallies.length)]!

  async function work(store: Store, worker: number): Promise<void> {
    for (let i = worker; isRunning; i++) {
      const [one, other] = [random(), random()]
      const taken = i % 4 === 0 && one !== other ? [one, other] : [one]
      try {
        checks++
        const requests = taken.map(({ policy, key }) => ({ policy, key, cost: 1 }))
        const { allowed } =
          requests.length === 1 ? await store.check(requests[0]!) : await store.take(requests)
        if (allowed) for (const tally of taken) tally.admitted++
      } catch (error) {
        for (const tally of taken) tally.failed++
        const { message } = error as Error
        messages.set(message, (messages.get(message) ?? 0) + 1)
      }
      await pause(2)
    }
  }
  const work$ = Promise.all(Array.from({ length: WORKERS }, (_, i) => work(stores[i % 3]!, i)))

  return {
    tallies,
    checks: () => checks,
    async stop() {
      isRunning = false
      await work$
      const failed = [...messages.values()].reduce((sum, count) => sum + count, 0)
      console.log(`${name}: ${checks} checks, ${failed} failed`, Object.fromEntries(messages))
      return { checks, failed }
    },
  }
}

/** The primaries with their slots and epochs, as a node knows them. */
async function primariesAt(node: { port: number }): Promise<string> {
  const client = clientOf(node)
  try {
    const lines = String(await client.call('CLUSTER', 'NODES'))
      .trim()
      .split('\n')
    return lines
      .map((line) => line.split(' '))
      .filter(([, , flags]) => flags!.includes('master'))
      .map(([id, , , , , , epoch, , ...slots]) =>
        [id, epoch, ...slots.filter((one) => !one.startsWith('['))].join(' '),
      )
      .sort()
      .join('\n')
  } finally {
    client.disconnect()
  }
}

/** Redis gives up a manual failover after five seconds, and another command would start it from the beginning. */
const FAILOVER_MS = 6000

/**
 * Promotes a replica. It needs the votes of the other primaries, which refuse a replica that does not know of a slot that
 * has moved, and after a lost election it waits for four node timeouts: so all nodes must agree first.
 */
async function takeOver(replica: { port: number }): Promise<void> {
  await until('all nodes to know the same primaries', async () => {
    const [first, ...others] = await Promise.all(cluster.nodes.map(primariesAt))
    return others.every((other) => other === first)
  })
  const client = clientOf(replica)
  let sentAt = Number.NEGATIVE_INFINITY
  const isDone = async () => {
    if (await isPrimary(replica)) return true
    if (performance.now() - sentAt > FAILOVER_MS) {
      sentAt = performance.now()
      await client.call('CLUSTER', 'FAILOVER').catch(() => {})
    }
    return false
  }
  try {
    await until('the replica to take over', isDone, { timeoutMs: 10 * FAILOVER_MS, everyMs: 50 })
  } finally {
    client.disconnect()
  }
}

/** Redis has counted every admitted check, perhaps some whose reply was lost, and never more than the limit. */
async function expectExact(tallies: readonly Tally[]): Promise<void> {
  for (const { policy, key, admitted, failed } of tallies) {
    const { remaining } = await stores[0]!.peek({ policy, key, cost: 1 })
    const used = policy.limit - remaining
    const title = `${policy.name} ${key}: ${admitted} admitted, ${failed} failed, ${used} used`
    expect(admitted, title).toBeLessThanOrEqual(used)
    expect(used, title).toBeLessThanOrEqual(admitted + failed)
  }
}

it('slots that move under load lose no check and execute none twice', async () => {
  const load = startLoad('resharding')
  let moved = 0
  try {
    await until('the load to run', async () => load.checks() > 1000)
    for (const { policy, key } of load.tallies.filter((_, i) => i % 4 === 0)) {
      const slot = calculateSlot(nameOf(policy, key))
      const owner = Math.floor((slot * 3) / 16_384)
      const move = await startMove(slot, cluster.nodes[owner]!, cluster.nodes[(owner + 1) % 3]!)
      await pause(10)
      // Two of three keys of the slot may be on one node, and the third on the other.
      await move.moveKey(nameOf(policy, key)).catch(() => {})
      await pause(10)
      await move.finish()
      moved++
    }
    const before = load.checks()
    await until('the load to continue', async () => load.checks() > before + 2000)
  } finally {
    const { checks, failed } = await load.stop()
    // A log that would become a list while its slot moves, and a take whose limits are on several nodes.
    expect(failed).toBeLessThan(checks / 50)
  }
  expect(moved).toBe((5 * KEYS) / 4)
  await expectExact(load.tallies)
})

it('a replica that takes over under load loses no check and executes none twice', async () => {
  const load = startLoad('failover')
  try {
    await until('the load to run', async () => load.checks() > 1000)
    for (const [replica, primary] of [
      [3, 0],
      [0, 3],
      [4, 1],
    ] as const) {
      await takeOver(cluster.nodes[replica]!)
      const before = load.checks()
      await until('the load to continue', async () => load.checks() > before + 1000)
      await until(
        'the old primary to become a replica',
        async () => !(await isPrimary(cluster.nodes[primary]!)),
      )
    }
  } finally {
    await load.stop()
  }
  await expectExact(load.tallies)
}, 240_000)
