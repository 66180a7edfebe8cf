import { concurrency, fixedWindow, slidingWindowLog, type TakeRequest } from '@tidegate/core'
import { pause, until } from '@tidegate/fixtures/until'
import { Cluster } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cutUnderLoad } from '../../test/cut-under-load.js'
import { clientOf, isPrimary } from '../../test/redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from '../../test/redis-cluster.js'
import { DEFAULT_PREFIX, redisKey } from '../keys.js'
import { RedisStore } from '../redis-store.js'

/** Long: no unit becomes available again during a test. */
const WINDOW = '366d'

const always = () => true
const never = () => false

describe('several limits in different slots of a cluster', () => {
  const LIMIT_A = 300
  const LIMIT_B = 200
  /** Parallel takes. The limits are not multiples of it, so that some takes race for the last units. */
  const CROWD = 130
  /** The default of `denialCacheMs`. */
  const CACHED_MS = 1000
  /** Delays an answer, so that the batcher allows several calls on the wire and `lose` can make checks of its own. */
  const FAR_MS = 5
  let cluster: RedisCluster
  let stores: RedisStore[]
  let a: TakeRequest
  let b: TakeRequest
  let rounds = 0

  beforeAll(async () => {
    // Replicas are promoted only by tests that want it: a promotion loses writes.
    cluster = await startCluster({ nodeTimeoutMs: 60_000 })
  })
  afterAll(() => cluster?.stop())
  beforeEach(() => {
    // One with default options, and one without a denial cache, whose takes always race.
    stores = [new RedisStore(cluster.url), new RedisStore(cluster.url, { denialCacheMs: 0 })]
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

  it('parallel takes by two stores admit no more than either limit, and give back units of lost races', async () => {
    let admitted = 0
    for (let i = 0; i < 10; i++) {
      const results = await Promise.all(
        Array.from({ length: CROWD }, (_, n) => stores[n % 2]!.take(n % 3 === 0 ? [a, b] : [b, a])),
      )
      admitted += results.filter(({ allowed }) => allowed).length
    }
    expect(admitted).toBeLessThanOrEqual(LIMIT_B)
    expect([await left(a), await left(b)]).toStrictEqual([LIMIT_A - admitted, LIMIT_B - admitted])
    // Without a race the remaining units can be taken, once the cached denials have expired.
    await pause(CACHED_MS)
    for (let i = admitted; i < LIMIT_B; i++) expect((await stores[0]!.take([a, b])).allowed).toBe(true)
    expect((await stores[0]!.take([a, b])).allowed).toBe(false)
  })

  it.each([
    ['slots', 40, 1000],
    ['units', 1000, 40],
  ])(
    'parallel takes of a slot and a unit hold exactly what was admitted when the %s run out',
    async (_, slots, units) => {
      const inFlight = concurrency({ limit: slots, ttl: '1h', name: `slots-${rounds}` })
      const rate = fixedWindow({ limit: units, window: WINDOW, name: `units-${rounds}` })
      const slot = { policy: inFlight, key: keyOn(0, inFlight), cost: 1 }
      const unit = { policy: rate, key: keyOn(1, rate), cost: 1 }
      const results = []
      for (let i = 0; i < 4; i++) {
        const takes = Array.from({ length: 30 }, (_, n) =>
          stores[n % 2]!.take(n % 3 === 0 ? [slot, unit] : [unit, slot]),
        )
        results.push(...(await Promise.all(takes)))
      }
      const admitted = results.filter(({ allowed }) => allowed)
      const ids = admitted.flatMap(({ decisions }) => decisions.flatMap((decision) => decision?.id ?? []))
      expect(admitted.length).toBeLessThanOrEqual(40)
      expect(ids).toHaveLength(admitted.length)
      expect([await left(slot), await left(unit)]).toStrictEqual([
        slots - admitted.length,
        units - admitted.length,
      ])
      expect(await stores[0]!.release(ids.map((id) => ({ ...slot, id })))).toStrictEqual(ids.map(() => true))
      expect(await left(slot)).toBe(slots)
    },
  )

  it('a take with a lost response of one node keeps no slot on the other', async () => {
    const inFlight = concurrency({ limit: 5, ttl: '1h', name: `lost-${rounds}` })
    const slot = { policy: inFlight, key: keyOn(0, inFlight), cost: 1 }
    const node = cluster.nodes[1]!.process
    const store = new RedisStore(cluster.url, { connectTimeoutMs: 300 })
    try {
      await store.take([slot, a]).then(({ decisions }) => store.release([{ ...slot, id: decisions[0]!.id! }]))
      // The peeks are answered, and then the node of the other limit stops.
      const take = store.take([slot, a, b])
      node.kill('SIGSTOP')
      await take.catch(() => {})
    } finally {
      node.kill('SIGCONT')
      await store.close()
    }
    await until('the slot to be free', async () => (await left(slot)) === 5)
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

  it('a node that stops for a while during parallel takes causes no over-admission', async () => {
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
   * One take of both limits that loses a race: after its peeks, others use up the second limit. `lose` is
   * called after its charges, just before it gives the unit of the first limit back; `afterwards` once the take is
   * answered. Both receive the store, whose calls are counted.
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
      // Fails the test if `lose` failed: the take itself treats that as a failure of Redis.
      await lost
      // Two peeks, two charges, and one refund, of the first limit.
      expect(calls.length).toBeGreaterThanOrEqual(5)
      expect(calls[4]).toBe(redisKey(DEFAULT_PREFIX, a.policy.name, a.key))
      await afterwards(store, calls)
      return allowed
    } finally {
      client.disconnect()
    }
  }

  it('a take that is abandoned after its peeks charges nothing', async () => {
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

  it('a denial of a take that was given back is not cached; a denial by a peek is', async () => {
    const allowed = await lostRace(
      async () => {},
      async (store, calls) => {
        expect(calls).toHaveLength(5)
        // A check of a higher cost is not denied from the cache either.
        expect((await store.check({ ...b, cost: 2 })).allowed).toBe(false)
        expect(calls).toHaveLength(6)
        // The denial is cached from here on, so there is no call.
        const { decisions } = await store.take([a, { ...b, cost: 2 }])
        expect(decisions).toMatchObject([undefined, { allowed: false, policy: b.policy.name }])
        expect(calls).toHaveLength(6)
        // A take of a lower cost peeks at both limits, and caches the denial.
        expect((await store.take([a, b])).decisions.map((one) => one?.allowed)).toStrictEqual([true, false])
        expect(calls).toHaveLength(8)
        expect((await store.check(b)).allowed).toBe(false)
        expect(calls).toHaveLength(8)
      },
    )
    expect(allowed).toBe(false)
  })

  it('a store that gives a unit back drops the denials that it cached meanwhile', async () => {
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

  it('a node that hangs between charge and refund gets its unit back when it continues', async () => {
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

  it('calls that were lost with a connection are not resent, so each check is charged at most once', async () => {
    await cutUnderLoad(cluster.url, cluster.nodes[2]!, (policy, n) => keyOn(2, policy, 1000 * n))
  })

  // The last test, because it removes a node from the cluster.
  it('a node that is killed between charge and refund keeps its unit charged, and admits no more than the limit', async () => {
    const [node, replica] = [cluster.nodes[0]!, cluster.nodes[3]!]
    for (const { port } of cluster.nodes) {
      const client = clientOf({ port })
      // Short, but longer than a pause of a busy machine, which must not look like a lost node.
      await client.config('SET', 'cluster-node-timeout', '1500')
      client.disconnect()
    }
    const client = clientOf(node)
    try {
      const allowed = await lostRace(async () => {
        // The replica has the charge, so that its promotion loses nothing.
        expect(await client.wait(1, 5000)).toBeGreaterThanOrEqual(1)
        node.process.kill('SIGKILL')
        await until('the node to be gone', async () => node.process.signalCode !== null)
      })
      expect(allowed).toBe(false)
    } finally {
      client.disconnect()
    }
    await until('the promotion', () => isPrimary(replica))
    // Both limits: while some slots have no primary, a cluster serves none.
    for (const limit of [a, b]) await until('an answer', () => stores[0]!.peek(limit).then(always, never))
    // One unit is lost, and none is admitted twice.
    expect(await admittedNow(a)).toBe(LIMIT_A - 1)
    expect(await admittedNow(b)).toBe(0)
  })
})
