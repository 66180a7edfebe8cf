import { once } from 'node:events'
import { concurrency, fixedWindow, type Policy, slidingWindowLog, type TakeRequest } from '@tidegate/core'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import calculateSlot from 'cluster-key-slot'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { policies } from './each-algorithm.js'
import { startMove } from './move-slot.js'
import { clientOf } from './redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from './redis-cluster.js'
import { nameOf } from './use-redis.js'

const WINDOW = '366d'
/** Long, so that a busy machine does not look like a lost connection. */
const connectTimeoutMs = 20_000

let cluster: RedisCluster
beforeAll(async () => {
  // Long, so that a busy machine does not cause a promotion.
  cluster = await startCluster({ nodeTimeoutMs: 60_000 })
})
afterAll(() => cluster?.stop())

async function ioredisCluster(): Promise<Cluster> {
  const client = new Cluster(
    cluster.nodes.slice(0, 3).map(({ port }) => ({ host: '127.0.0.1', port })),
    { enableOfflineQueue: false, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 },
  )
  client.on('error', () => {})
  await once(client, 'ready')
  return client
}

/** How to make a store, and what to close after it. */
const CLIENTS: Record<string, () => Promise<{ store: RedisStore; close?: () => unknown }>> = {
  'its URL': async () => ({
    store: new RedisStore(cluster.url, { denialCacheMs: 0, connectTimeoutMs }),
  }),
  'an ioredis client': async () => {
    const client = await ioredisCluster()
    return {
      store: new RedisStore(client, { denialCacheMs: 0, connectTimeoutMs }),
      close: () => client.disconnect(),
    }
  },
  'a node-redis client': async () => {
    const client = createCluster({
      rootNodes: cluster.nodes.map(({ url }) => ({ url })),
      defaults: { disableOfflineQueue: true },
    })
    client.on('error', () => {})
    await client.connect()
    return {
      store: new RedisStore(client, { denialCacheMs: 0, connectTimeoutMs }),
      close: () => client.destroy(),
    }
  },
}

/** The script calls of the primaries. */
async function scriptCalls(): Promise<number> {
  let calls = 0
  for (const node of cluster.nodes.slice(0, 3)) {
    const stats = await node.ask('INFO commandstats')
    for (const [, count] of stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)) calls += Number(count)
  }
  return calls
}

async function callsOf(work: () => Promise<unknown>): Promise<number> {
  const before = await scriptCalls()
  await work()
  return (await scriptCalls()) - before
}

let names = 0
let policy: Policy
beforeEach(() => {
  policy = fixedWindow({ limit: 100, window: WINDOW, name: `by-node-${names++}` })
})

const KEYS = Array.from({ length: 600 }, (_, i) => `key-${i}`)

async function checkAll(store: RedisStore): Promise<Set<number>> {
  const decisions = await Promise.all(KEYS.map((key) => store.check({ policy, key, cost: 1 })))
  return new Set(decisions.map(({ remaining }) => remaining))
}

describe.each(Object.keys(CLIENTS))('a cluster by %s', (name) => {
  let store: RedisStore
  let close: (() => unknown) | undefined
  beforeEach(async () => {
    ;({ store, close } = await CLIENTS[name]!())
    // Tests each of the nodes, and loads the script.
    await checkAll(store)
  })
  afterEach(async () => {
    await store.close()
    await close?.()
  })

  it('decides checks of many slots in a few calls, each once', async () => {
    // Each node has about 200 of the keys, and a call holds 64.
    expect(
      await callsOf(async () => {
        expect(await checkAll(store)).toStrictEqual(new Set([98]))
      }),
    ).toBeLessThanOrEqual(24)
    const peeks = await Promise.all(KEYS.map((key) => store.peek({ policy, key, cost: 1 })))
    expect(new Set(peeks.map(({ remaining }) => remaining))).toStrictEqual(new Set([98]))
  })

  it('takes from limits in several slots of one node in one call, all or nothing', async () => {
    const keys = [keyOn(1, policy, 1000), keyOn(1, policy, 2000), keyOn(1, policy, 3000)]
    expect(new Set(keys.map((key) => calculateSlot(nameOf(policy, key)))).size).toBe(3)
    const requests = keys.map((key) => ({ policy, key, cost: 1 }))
    const remaining = async () =>
      Promise.all(requests.map(async (request) => (await store.peek(request)).remaining))

    let result = await store.take(requests)
    expect(await callsOf(async () => (result = await store.take(requests)))).toBe(1)
    expect(result.allowed).toBe(true)
    expect(await remaining()).toStrictEqual([98, 98, 98])
    await store.check({ ...requests[1]!, cost: 98 })
    expect(await callsOf(async () => (result = await store.take(requests)))).toBe(1)
    expect(result.decisions.map((decision) => decision?.allowed)).toStrictEqual([true, false, true])
    expect(await remaining()).toStrictEqual([98, 0, 98])
  })

  it('reserves limits in several slots of one node in one call, all or nothing', async () => {
    const requests = [1000, 2000].map((from) => ({ policy, key: keyOn(2, policy, from), cost: 60 }))
    let reserved = 0
    expect(
      await callsOf(async () => {
        reserved = (await store.reserve(requests)).decisions.filter((decision) => decision?.allowed).length
      }),
    ).toBe(1)
    expect(reserved).toBe(2)
    expect((await store.reserve([{ ...requests[0]!, cost: 1 }, requests[1]!])).allowed).toBe(false)
    for (const request of requests) expect((await store.peek(request)).remaining).toBe(40)
  })

  describe('while a slot moves', () => {
    let from: RedisServer
    let to: RedisServer
    beforeEach(() => {
      ;[from, to] = [cluster.nodes[0]!, cluster.nodes[1]!]
    })

    it.each(policies().map(({ algorithm }, i) => [algorithm, i] as const))(
      '%s: each check counts once, before, during and after',
      async (_, i) => {
        policy = policies({ name: `moving-${names++}` })[i]!
        const key = keyOn(0, policy)
        const slot = calculateSlot(nameOf(policy, key))
        const allowed: boolean[] = []
        const check = async () => allowed.push((await store.check({ policy, key, cost: 1 })).allowed)
        await check()
        const move = await startMove(slot, from, to)
        try {
          await check()
          await move.moveKey(nameOf(policy, key))
          await check()
        } finally {
          await move.finish()
        }
        await check()
        await moveBack(slot)
        await check()
        expect(allowed).toStrictEqual([true, true, true, false, false])
      },
    )

    it('a key that is new, and a slot that is acquired, are written on the node that gets the slot', async () => {
      const slots = concurrency({ limit: 3, ttl: '1h', name: `moving-${names++}` })
      for (const one of [policy, slots]) {
        const key = keyOn(0, one, 1000)
        const slot = calculateSlot(nameOf(one, key))
        const move = await startMove(slot, from, to)
        try {
          const { remaining } = await store.check({ policy: one, key, cost: 1 })
          expect(remaining).toBe(one.limit - 1)
          expect(await keysIn(from, slot)).not.toContain(nameOf(one, key))
        } finally {
          await move.finish()
          await moveBack(slot)
        }
        expect((await store.peek({ policy: one, key, cost: 1 })).remaining).toBe(one.limit - 1)
      }
    })

    it('a take of several limits of the node charges each once, on any node that has its key', async () => {
      const [first, second] = [keyOn(0, policy, 1000), keyOn(0, policy, 2000)]
      const requests = [first, second].map((key): TakeRequest => ({ policy, key, cost: 1 }))
      const slot = calculateSlot(nameOf(policy, second))
      await store.take(requests)
      const move = await startMove(slot, from, to)
      try {
        expect((await store.take(requests)).allowed).toBe(true)
        await move.moveKey(nameOf(policy, second))
        expect((await store.take(requests)).allowed).toBe(true)
      } finally {
        await move.finish()
        await moveBack(slot)
      }
      for (const request of requests) expect((await store.peek(request)).remaining).toBe(97)
    })

    it.each([[['state']], [['r']], [['state', 'e']]])(
      'a reservation fails while some of its keys have moved, here %j, and is exact afterwards',
      async (moved) => {
        const key = keyOn(0, policy, 1000)
        const name = nameOf(policy, key)
        const slot = calculateSlot(name)
        const names: Record<string, string> = { state: name, r: `{${name}}:r`, e: `{${name}}:e` }
        const reserve = (id: string) => store.reserve([{ policy, key, cost: 10 }], { id })
        const settle = (id: string, actual: number) => store.settle([{ policy, key }], id, [actual])
        await reserve('ended')
        await settle('ended', 0)
        await reserve('below')
        await reserve('above')
        const move = await startMove(slot, from, to)
        try {
          for (const part of moved) await move.moveKey(names[part]!)
          for (const call of [() => reserve('new'), () => settle('below', 4), () => settle('above', 30)])
            await expect(call()).rejects.toMatchObject({ code: 'STORE_FAILED' })
        } finally {
          // Fails if a key is on both nodes.
          await move.finish()
          await moveBack(slot)
        }
        expect(await reserve('below')).toMatchObject({ allowed: true, repeated: true })
        expect(await settle('below', 4)).toMatchObject([{ settled: true, refunded: 6 }])
        expect(await settle('above', 30)).toMatchObject([{ settled: true, charged: 20 }])
        expect(await store.peek({ policy, key, cost: 1 })).toMatchObject({ remaining: 66 })
      },
    )

    it('a check of a key whose block has ended is executed', async () => {
      const key = keyOn(0, policy, 1000)
      await store.check({ policy, key, cost: 1 })
      await store.block({ policy, key, durationMs: 1 })
      await new Promise((resolve) => setTimeout(resolve, 10))
      const slot = calculateSlot(nameOf(policy, key))
      const move = await startMove(slot, from, to)
      try {
        expect(await store.check({ policy, key, cost: 1 })).toMatchObject({ allowed: true, remaining: 98 })
      } finally {
        await move.finish()
        await moveBack(slot)
      }
    })

    it('a reset drops the reservations that are on the node of the key', async () => {
      const key = keyOn(0, policy, 1000)
      const reserve = () => store.reserve([{ policy, key, cost: 10 }], { id: 'a' })
      await reserve()
      const slot = calculateSlot(nameOf(policy, key))
      const move = await startMove(slot, from, to)
      try {
        await store.reset({ policy, key })
      } finally {
        await move.finish()
        await moveBack(slot)
      }
      const { repeated, decisions } = await reserve()
      expect([repeated, decisions[0]?.remaining]).toStrictEqual([undefined, 90])
    })

    it('a log that would become a list fails, and no units are lost or charged', async () => {
      const log = slidingWindowLog({ limit: 100, window: WINDOW, name: `log-${names++}` })
      const [logged, other] = [
        { policy: log, key: keyOn(0, log), cost: 1 },
        { policy, key: keyOn(0, policy, 1000), cost: 1 },
      ]
      for (let i = 0; i < 64; i++) await store.check(logged)
      const slot = calculateSlot(nameOf(log, logged.key))
      const move = await startMove(slot, from, to)
      try {
        await expect(store.check(logged)).rejects.toMatchObject({ code: 'STORE_FAILED' })
        await expect(store.take([other, logged])).rejects.toMatchObject({ code: 'STORE_FAILED' })
      } finally {
        await move.finish()
        await moveBack(slot)
      }
      expect((await store.peek(other)).remaining).toBe(100)
      expect(await store.check(logged)).toMatchObject({ allowed: true, remaining: 35 })
    })

    async function moveBack(slot: number): Promise<void> {
      const move = await startMove(slot, to, from)
      await move.finish()
    }
  })
})

async function keysIn(server: RedisServer, slot: number): Promise<unknown> {
  const client = clientOf(server)
  try {
    return await client.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)
  } finally {
    client.disconnect()
  }
}

it("batchBy: 'slot' uses a call for each slot", async () => {
  const store = new RedisStore(cluster.url, { connectTimeoutMs, cluster: { batchBy: 'slot' } })
  try {
    expect(await checkAll(store)).toStrictEqual(new Set([99]))
    const calls = await callsOf(async () => expect(await checkAll(store)).toStrictEqual(new Set([98])))
    expect(calls).toBeGreaterThan(500)
  } finally {
    await store.close()
  }
  for (const wrong of [{ batchBy: 'key' }, { batch: 'slot' }, 'slot']) {
    expect(() => new RedisStore(cluster.url, { cluster: wrong as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  }
})

describe('a cluster that does not accept undeclared keys', () => {
  it('is used slot by slot if the test call is denied, here by an ACL', async () => {
    for (const node of cluster.nodes) {
      await node.ask(`ACL SETUSER narrow reset on >secret ~rate_limiter:by-node-* ~{* +@all`)
    }
    const store = new RedisStore(cluster.url, { connectTimeoutMs, username: 'narrow', password: 'secret' })
    try {
      expect(await checkAll(store)).toStrictEqual(new Set([99]))
      const calls = await callsOf(async () => expect(await checkAll(store)).toStrictEqual(new Set([98])))
      // Nearly as many as keys: a few share a slot.
      expect(calls).toBeGreaterThan(500)
    } finally {
      await store.close()
    }
  })

  it.each([
    ['in the reply to an entry', async (count: number) => rejectedEntries(count)],
    ['in the reply to a call', () => Promise.reject(new Error(CROSSSLOT))],
  ])('is used slot by slot after it rejects undeclared keys %s', async (_, rejection) => {
    const client = await ioredisCluster()
    let isRejecting = false
    const store = new RedisStore({
      isCluster: true,
      quit: () => client.quit(),
      call: (command: string, args: string[]) => client.call(command, args),
      options: client.options,
      get slots() {
        return client.slots
      },
      nodes: (role: 'master') =>
        client.nodes(role).map((node) => ({
          options: node.options,
          call: (command: string, args: string[]) =>
            isRejecting ? rejection(Number(args.at(-1))) : node.call(command, args),
        })),
    } as never)
    try {
      expect(await checkAll(store)).toStrictEqual(new Set([99]))
      isRejecting = true
      expect(await checkAll(store)).toStrictEqual(new Set([98]))
      expect(await checkAll(store)).toStrictEqual(new Set([97]))
    } finally {
      await store.close()
      client.disconnect()
    }
  })
})

const CROSSSLOT = "CROSSSLOT Keys in request don't hash to the same slot"

/** The reply to a call with this many checks. */
function rejectedEntries(count: number): unknown[] {
  const numbers = Array.from({ length: count }, () => [-1, 0, 0]).flat()
  return [1, ...numbers, ...Array.from({ length: count }, () => 'ERR script tried accessing undeclared key')]
}
