import { fixedWindow, slidingWindowLog, type TakeRequest } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { Cluster } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cutUnderLoad } from '../test/cut-under-load.js'
import { clientOf, isPrimary } from '../test/redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from '../test/redis-cluster.js'
import { DEFAULT_PREFIX, redisKey } from './keys.js'
import { RedisStore } from './redis-store.js'

/** Nothing comes back by itself within a test. */
const WINDOW = '366d'

const always = () => true
const never = () => false

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

describe('several limits in different slots of a cluster', () => {
  const LIMIT_A = 300
  const LIMIT_B = 200
  /** So many at a time, and no whole number of crowds fills a limit: the last of them all look, and race. */
  const CROWD = 130
  /** How long a store remembers a refusal. */
  const REMEMBERED_MS = 1000
  /** An answer that took so long is none from nearby: `lose` may check what the call that waits for it is about. */
  const FAR_MS = 5
  let cluster: RedisCluster
  let stores: RedisStore[]
  let a: TakeRequest
  let b: TakeRequest
  let rounds = 0

  beforeAll(async () => {
    // Nobody is promoted unless a test wants it: what a promotion forgets is not what is asked here.
    cluster = await startCluster({ nodeTimeoutMs: 60_000 })
  })
  afterAll(() => cluster?.stop())
  beforeEach(() => {
    // As users get it, and one that asks every time: it never leaves the race.
    stores = [new RedisStore(cluster.url), new RedisStore(cluster.url, { rememberRefusalsMs: 0 })]
    rounds++
    const policyA = fixedWindow({ limit: LIMIT_A, window: WINDOW, name: `a-${rounds}` })
    const policyB = slidingWindowLog({ limit: LIMIT_B, window: WINDOW, name: `b-${rounds}` })
    a = { policy: policyA, key: keyOn(0, policyA), cost: 1 }
    b = { policy: policyB, key: keyOn(1, policyB), cost: 1 }
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
  })

  async function left(request: TakeRequest): Promise<number> {
    return (await stores[0]!.peek(request)).remaining
  }

  it('parallel takes by two stores admit no more than either limit, and give back what they lost', async () => {
    let admitted = 0
    for (let i = 0; i < 10; i++) {
      const results = await Promise.all(
        Array.from({ length: CROWD }, (_, n) => stores[n % 2]!.take(n % 3 === 0 ? [a, b] : [b, a])),
      )
      admitted += results.filter(({ allowed }) => allowed).length
    }
    expect(admitted).toBeLessThanOrEqual(LIMIT_B)
    expect([await left(a), await left(b)]).toStrictEqual([LIMIT_A - admitted, LIMIT_B - admitted])
    // Alone, nobody races: what is left can be had, once the looks that were refused are forgotten.
    await pause(REMEMBERED_MS)
    for (let i = admitted; i < LIMIT_B; i++) expect((await stores[0]!.take([a, b])).allowed).toBe(true)
    expect((await stores[0]!.take([a, b])).allowed).toBe(false)
  })

  it('takes and single checks of the same limits together admit no more than either limit', async () => {
    let [usedA, usedB] = [0, 0]
    for (let i = 0; i < 10; i++) {
      await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const store = stores[n % 2]!
          const isOne = n % 4 < 2
          const wanted = isOne ? [n % 4 === 0 ? a : b] : [a, b]
          const { allowed } = isOne ? await store.check(wanted[0]!) : await store.take(wanted)
          if (allowed && wanted.includes(a)) usedA++
          if (allowed && wanted.includes(b)) usedB++
        }),
      )
    }
    expect(usedA).toBeLessThanOrEqual(LIMIT_A)
    expect(usedB).toBeLessThanOrEqual(LIMIT_B)
    expect([await left(a), await left(b)]).toStrictEqual([LIMIT_A - usedA, LIMIT_B - usedB])
  })

  it('a node that stops for a while in the middle of parallel takes makes none admit too much', async () => {
    const node = cluster.nodes[1]!.process
    let admitted = 0
    for (let i = 0; i < 8; i++) {
      const takes = Array.from({ length: CROWD }, (_, n) => stores[n % 2]!.take([a, b]))
      await pause(i)
      node.kill('SIGSTOP')
      await pause(50)
      node.kill('SIGCONT')
      const results = await Promise.allSettled(takes)
      admitted += results.filter((one) => one.status === 'fulfilled' && one.value.allowed).length
    }
    expect(admitted).toBeLessThanOrEqual(LIMIT_B)
    expect(await left(a)).toBeLessThanOrEqual(LIMIT_A - admitted)
    expect(await left(b)).toBeLessThanOrEqual(LIMIT_B - admitted)
  })

  /**
   * One take of both limits that loses a race: after its looks, others use up the second limit. `lose` is
   * called after its charges, at the very moment in which it wants to give the first limit back; `afterwards`
   * when it has been answered. Both are given the store, whose calls are counted.
   */
  async function lostRace(
    lose: (store: RedisStore) => Promise<void>,
    afterwards: (store: RedisStore, calls: readonly string[]) => Promise<void> = async () => {},
  ): Promise<boolean> {
    const client = new Cluster(
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { retryDelayOnFailover: 0 },
    )
    client.on('error', () => {})
    const calls: string[] = []
    const between = {
      isCluster: true,
      quit: () => client.quit(),
      call: async (name: string, args: string[]) => {
        // A script that a node does not have yet is sent twice; that is the same step.
        if (name === 'evalsha') calls.push(args[2]!)
        if (name === 'evalsha' && calls.length === 3) othersUseUp ??= useUp(b).then(() => pause(FAR_MS))
        await othersUseUp
        if (name === 'evalsha' && calls.length === 5) {
          lost = lose(store)
          await lost
        }
        return client.call(name, args)
      },
    }
    let othersUseUp: Promise<void> | undefined
    let lost: Promise<void> | undefined
    const store = new RedisStore(between)
    try {
      const { allowed } = await store.take([a, b])
      // The take takes a failure in there for one of Redis.
      await lost
      // Two looks, two charges, one to give back: the first limit's.
      expect(calls.length).toBeGreaterThanOrEqual(5)
      expect(calls[4]).toBe(redisKey(DEFAULT_PREFIX, a.policy.name, a.key))
      await afterwards(store, calls)
      return allowed
    } finally {
      client.disconnect()
    }
  }

  it('a take that is abandoned after the look charges nothing', async () => {
    const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
    const call = { abandoned: false }
    let isAbandoning = false
    let calls = 0
    const store = new RedisStore({
      isCluster: true,
      quit: () => client.quit(),
      call: async (name: string, args: string[]) => {
        calls++
        const answer = await client.call(name, args)
        call.abandoned = isAbandoning
        return answer
      },
    })
    try {
      expect((await store.take([a, b])).allowed).toBe(true)
      isAbandoning = true
      calls = 0
      await expect(store.take([a, b], call)).rejects.toMatchObject({ code: 'STORE_FAILED' })
      expect(calls).toBe(2)
      expect([await left(a), await left(b)]).toStrictEqual([LIMIT_A - 1, LIMIT_B - 1])
    } finally {
      client.disconnect()
    }
  })

  async function useUp(request: TakeRequest): Promise<void> {
    expect((await stores[1]!.check({ ...request, cost: request.policy.limit })).allowed).toBe(true)
  }

  /** How many single checks of a limit are still admitted. */
  async function admittedNow(request: TakeRequest): Promise<number> {
    const all = await Promise.all(
      Array.from({ length: request.policy.limit + 50 }, () => stores[0]!.check(request)),
    )
    return all.filter(({ allowed }) => allowed).length
  }

  it('a refusal in a take that was given back is not remembered; one that was found by looking is', async () => {
    const allowed = await lostRace(
      async () => {},
      async (store, calls) => {
        expect(calls).toHaveLength(5)
        // Not even a dearer one is refused without asking.
        expect((await store.check({ ...b, cost: 2 })).allowed).toBe(false)
        expect(calls).toHaveLength(6)
        // From here on it is known: nobody is asked.
        const { decisions } = await store.take([a, { ...b, cost: 2 }])
        expect(decisions).toMatchObject([undefined, { allowed: false, policy: b.policy.name }])
        expect(calls).toHaveLength(6)
        // A cheaper take looks at both limits, and what it sees is known, too.
        expect((await store.take([a, b])).decisions.map((one) => one?.allowed)).toStrictEqual([true, false])
        expect(calls).toHaveLength(8)
        expect((await store.check(b)).allowed).toBe(false)
        expect(calls).toHaveLength(8)
      },
    )
    expect(allowed).toBe(false)
  })

  it('a give-back is seen at once by the store that gave: it forgets what it refused meanwhile', async () => {
    await stores[1]!.check({ ...a, cost: LIMIT_A - 1 })
    const allowed = await lostRace(
      async (store) => {
        expect((await store.check(a)).allowed).toBe(false)
      },
      async (store) => {
        expect((await store.check(a)).allowed).toBe(true)
      },
    )
    expect(allowed).toBe(false)
  })

  it('a node that stops between charge and give-back gets its unit back when it goes on', async () => {
    const node = cluster.nodes[0]!.process
    let goesOn = Promise.resolve()
    const allowed = await lostRace(async () => {
      node.kill('SIGSTOP')
      goesOn = pause(300).then(() => void node.kill('SIGCONT'))
    })
    await goesOn
    expect(allowed).toBe(false)
    expect(await admittedNow(a)).toBe(LIMIT_A)
    expect(await admittedNow(b)).toBe(0)
  })

  it('what was lost with a connection is not sent again: each check is charged at most once', async () => {
    await cutUnderLoad(cluster.url, cluster.nodes[2]!, (policy, n) => keyOn(2, policy, 1000 * n))
  })

  // The last: it leaves the cluster without one of its nodes.
  it('a node that is killed between charge and give-back keeps its unit, and admits none too many', async () => {
    const [node, replica] = [cluster.nodes[0]!, cluster.nodes[3]!]
    for (const { port } of cluster.nodes) {
      const client = clientOf({ port })
      // Soon, but not so soon that a machine that stands still for a moment makes the others give up each other.
      await client.config('SET', 'cluster-node-timeout', '1500')
      client.disconnect()
    }
    const client = clientOf(node)
    try {
      const allowed = await lostRace(async () => {
        // The replica has heard of the charge, so that its promotion forgets nothing.
        expect(await client.wait(1, 5000)).toBeGreaterThanOrEqual(1)
        node.process.kill('SIGKILL')
        await until('the node to be gone', async () => node.process.signalCode !== null)
      })
      expect(allowed).toBe(false)
    } finally {
      client.disconnect()
    }
    await until('the promotion', () => isPrimary(replica))
    // Of both: while slots have no primary, a cluster answers for none of them.
    for (const limit of [a, b]) await until('an answer', () => stores[0]!.peek(limit).then(always, never))
    // One is too strict, and none too many.
    expect(await admittedNow(a)).toBe(LIMIT_A - 1)
    expect(await admittedNow(b)).toBe(0)
  })
})
