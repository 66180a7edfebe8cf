import { fixedWindow, type Policy, type Store, slidingWindowLog, type TakeRequest } from '@tidegate/core'
import { Cluster } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyOn, type RedisCluster, startCluster } from '../test/redis-cluster.js'
import { type RedisSentinels, startSentinels } from '../test/redis-sentinel.js'
import { clientOf, isPrimary, type RedisServer, startRedis, until } from '../test/redis-server.js'
import { DEFAULT_PREFIX, redisKey } from './keys.js'
import { RedisStore } from './redis-store.js'

/** Nothing comes back by itself within a test. */
const WINDOW = '366d'

const always = () => true
const never = () => false

function codeOf(error: { code?: unknown }): unknown {
  return error.code
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

interface Load {
  allowed: number
  refused: number
  failed: number
  /** When the last check failed, and when one was last answered. */
  lastFailureAt: number
  lastAnswerAt: number
  stop(): Promise<void>
}

/** Sixteen at a time check one key, each a moment after its last answer. */
function startLoad(store: Store, policy: Policy, key: string): Load {
  let isRunning = true
  const load: Load = {
    allowed: 0,
    refused: 0,
    failed: 0,
    lastFailureAt: 0,
    lastAnswerAt: 0,
    stop: async () => {
      isRunning = false
      await all
    },
  }
  const work = async () => {
    while (isRunning) {
      try {
        const { allowed } = await store.check({ policy, key, cost: 1 })
        if (allowed) load.allowed++
        else load.refused++
        load.lastAnswerAt = performance.now()
      } catch {
        load.failed++
        load.lastFailureAt = performance.now()
      }
      await pause(1)
    }
  }
  const all = Promise.all(Array.from({ length: 16 }, work))
  return load
}

type Signal = 'SIGKILL' | 'SIGSTOP'

const LOSSES: [string, Signal][] = [
  ['is killed', 'SIGKILL'],
  ['falls silent', 'SIGSTOP'],
]

/** Takes the primary away under load, and waits until the load has been answered by another and used up the limit. */
async function loseUnderLoad(options: {
  title: string
  url: string
  policy: Policy
  key: string
  primary: RedisServer
  replicas: RedisServer[]
  /** SIGKILL ends its connections; SIGSTOP leaves them open, and silent. */
  signal: Signal
}): Promise<void> {
  const { title, url, policy, key, primary, replicas, signal } = options
  const store = new RedisStore(url)
  const load = startLoad(store, policy, key)
  try {
    await until('the load to run', async () => load.allowed > policy.limit / 10)
    const allowedBefore = load.allowed
    const killedAt = performance.now()
    primary.process.kill(signal)
    await until('a promotion', async () =>
      (await Promise.all(replicas.map((replica) => isPrimary(replica)))).some(Boolean),
    )
    const promotedAt = performance.now()
    await until('an answer after the promotion', async () => load.lastAnswerAt > promotedAt, 5000)
    const answeredAt = load.lastAnswerAt
    await until('the limit to be used up', async () => load.refused > 0)
    await load.stop()
    const tooMany = Math.max(0, load.allowed - policy.limit)
    console.log(
      `${title}: promoted ${Math.round(promotedAt - killedAt)} ms after the loss, working ` +
        `${Math.max(0, Math.round(answeredAt - promotedAt))} ms later; ${load.failed} checks failed in ` +
        `between; ${tooMany} of ${policy.limit} admitted too many`,
    )
    // It works again for good, not now and then.
    expect(load.lastFailureAt - promotedAt).toBeLessThan(5000)
    // What the promoted server had not yet heard of can be admitted twice; nothing else can.
    expect(tooMany).toBeLessThanOrEqual(allowedBefore + 16)
  } finally {
    await load.stop()
    await store.close()
  }
}

describe.each(LOSSES)('when a primary %s under load', (how, signal) => {
  let sentinels: RedisSentinels | undefined
  let cluster: RedisCluster | undefined
  afterAll(async () => {
    await sentinels?.stop()
    await cluster?.stop()
  })

  it('Sentinel: checks work again by themselves within 5 s of the promotion', async () => {
    sentinels = await startSentinels()
    const [primary, ...replicas] = sentinels.nodes as [RedisServer, ...RedisServer[]]
    const policy = fixedWindow({ limit: 10_000, window: WINDOW, name: 'sentinel' })
    const title = `Sentinel, the primary ${how}`
    await loseUnderLoad({ title, url: sentinels.url, policy, key: 'k', primary, replicas, signal })
  })

  it('Cluster: checks work again by themselves within 5 s of the promotion', async () => {
    cluster = await startCluster()
    const [primary, replicas] = [cluster.nodes[0]!, [cluster.nodes[3]!]]
    const policy = fixedWindow({ limit: 10_000, window: WINDOW, name: 'cluster' })
    const [title, key] = [`Cluster, a primary ${how}`, keyOn(0, policy)]
    await loseUnderLoad({ title, url: cluster.url, policy, key, primary, replicas, signal })
  })
})

describe('one server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.stop())

  it('one that falls silent is a STORE_FAILED for every check, and works when it goes on', async () => {
    const policy = fixedWindow({ limit: 1000, window: WINDOW, name: 'silent' })
    const store = new RedisStore(server.url, { connectTimeoutMs: 200 })
    const check = () => store.check({ policy, key: 'k', cost: 1 }).then(() => 'answered', codeOf)
    try {
      expect(await check()).toBe('answered')
      server.process.kill('SIGSTOP')
      const all = await Promise.all(Array.from({ length: 100 }, check))
      expect(new Set(all)).toStrictEqual(new Set(['STORE_FAILED']))
      expect(await check()).toBe('STORE_FAILED')
      server.process.kill('SIGCONT')
      await until('an answer', async () => (await check()) === 'answered')
    } finally {
      await store.close()
    }
  })

  it('what was lost with a connection is not sent again: each check is charged at most once', async () => {
    await cutUnderLoad(server.url, server, () => 'k')
  })
})

/** Cuts every connection of the server in the middle of a hundred checks, thirty times, and compares. */
async function cutUnderLoad(url: string, server: RedisServer, keyOf: (policy: Policy) => string) {
  const policy = fixedWindow({ limit: 100_000, window: WINDOW, name: 'once' })
  const request = { policy, key: keyOf(policy), cost: 1 }
  const store = new RedisStore(url)
  const client = clientOf(server)
  let [sent, allowed, failed] = [0, 0, 0]
  try {
    for (let i = 0; i < 30; i++) {
      await until('an answer', () => store.peek(request).then(always, never))
      const checks = Array.from({ length: 100 }, () => store.check(request))
      const killed = client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      sent += checks.length
      for (const one of await Promise.allSettled(checks)) {
        if (one.status === 'rejected') failed++
        else if (one.value.allowed) allowed++
      }
      await killed
    }
    await until('an answer', () => store.peek(request).then(always, never))
    const charged = policy.limit - (await store.peek(request)).remaining
    expect(failed).toBeGreaterThan(0)
    expect(charged).toBeGreaterThanOrEqual(allowed)
    expect(charged).toBeLessThanOrEqual(sent)
  } finally {
    client.disconnect()
    await store.close()
  }
}

describe('several limits in different slots of a cluster', () => {
  const LIMIT_A = 300
  const LIMIT_B = 200
  /** So many at a time, and no whole number of crowds fills a limit: the last of them all look, and race. */
  const CROWD = 130
  /** How long a store remembers a refusal. */
  const REMEMBERED_MS = 1000
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
        if (name === 'evalsha' && calls.length === 3) othersUseUp ??= useUp(b)
        await othersUseUp
        if (name === 'evalsha' && calls.length === 5) await lose(store)
        return client.call(name, args)
      },
    }
    let othersUseUp: Promise<void> | undefined
    const store = new RedisStore(between)
    try {
      const { allowed } = await store.take([a, b])
      // Two looks, two charges, one to give back: the first limit's.
      expect(calls.length).toBeGreaterThanOrEqual(5)
      expect(calls[4]).toBe(redisKey(DEFAULT_PREFIX, a.policy.name, a.key))
      await afterwards(store, calls)
      return allowed
    } finally {
      client.disconnect()
    }
  }

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
    await cutUnderLoad(cluster.url, cluster.nodes[2]!, (policy) => keyOn(2, policy))
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
