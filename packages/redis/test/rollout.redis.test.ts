import type { Decision } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LoadProcess, type PolicyOptions, startProcesses } from './processes.js'

// A rollout: one process has the old numbers of a policy, the other the new ones, and both check one key at the same
// time. Together they never admit more than the larger of the two policies alone.

const DAY_MS = 86_400_000

let server: RedisServer
let old: LoadProcess
let next: LoadProcess
let keys = 0

beforeAll(async () => {
  server = await startRedis()
  const started = await startProcesses([{ redisUrl: server.url }, { redisUrl: server.url }])
  ;[old, next] = started as [LoadProcess, LoadProcess]
})
afterAll(async () => {
  await Promise.all([old?.stop(), next?.stop()])
  await server?.stop()
})

type Numbers = Record<string, number | string>

function named(algorithm: string, numbers: Numbers): PolicyOptions {
  return { algorithm, name: `rollout-${algorithm}`, ...numbers } as PolicyOptions
}

describe('old and new processes in turns', () => {
  type Turn = [who: 'old' | 'new', cost: number, allowed: boolean, remaining: number]

  const LIMITS: [string, Numbers, Numbers, Turn[]][] = [
    ...['fixed-window', 'sliding-window-log', 'sliding-window-counter'].map(
      (algorithm): [string, Numbers, Numbers, Turn[]] => [
        algorithm,
        { limit: 10, window: '366d' },
        { limit: 8, window: '366d' },
        [
          ['old', 6, true, 4],
          ['new', 1, true, 1],
          ['old', 1, true, 2],
          ['new', 1, false, 0],
          ['old', 2, true, 0],
          // Ten of eight are used: the rest is 0, not negative.
          ['new', 1, false, 0],
          ['old', 1, false, 0],
        ],
      ],
    ),
    [
      'token-bucket',
      { capacity: 10, refillRate: '1/1h' },
      { capacity: 8, refillRate: '1/1h' },
      [
        ['old', 1, true, 9],
        // Nine tokens in a bucket of eight become eight.
        ['new', 1, true, 7],
        ['old', 2, true, 5],
        ['new', 5, true, 0],
        ['old', 1, false, 0],
      ],
    ],
    [
      'leaky-bucket',
      { capacity: 10, leakRate: '1/1h' },
      { capacity: 8, leakRate: '1/1h' },
      [
        ['old', 6, true, 4],
        ['new', 1, true, 1],
        ['old', 3, true, 0],
        // A level of ten stays above the capacity of eight until it has drained; a denial writes nothing.
        ['new', 1, false, 0],
        ['old', 1, false, 0],
      ],
    ],
  ]

  it.each(LIMITS)('%s, new limit: used units stay used', async (algorithm, before, after, turns) => {
    const key = `key-${keys++}`
    for (const [i, [who, cost, allowed, remaining]] of turns.entries()) {
      const decision = await turn(who, algorithm, who === 'old' ? before : after, key, cost)
      expect([i, decision.allowed, decision.remaining]).toStrictEqual([i, allowed, remaining])
    }
  })

  it.each(['fixed-window', 'sliding-window-log', 'sliding-window-counter'])(
    '%s, new window: the count is carried over in both directions',
    async (algorithm) => {
      const [before, after] = [
        { limit: 10, window: '30d' },
        { limit: 10, window: '366d' },
      ]
      const key = `key-${keys++}`
      const turns: Turn[] = [
        ['old', 3, true, 7],
        ['new', 3, true, 4],
        ['old', 3, true, 1],
        ['new', 1, true, 0],
        ['old', 1, false, 0],
        ['new', 1, false, 0],
      ]
      for (const [i, [who, cost, allowed, remaining]] of turns.entries()) {
        const decision = await turn(who, algorithm, who === 'old' ? before : after, key, cost)
        expect([i, decision.allowed, decision.remaining]).toStrictEqual([i, allowed, remaining])
      }
    },
  )

  // Units of 1/30,000 and of 1/70,000: a level of one is not whole in the other.
  const [OLD_US, NEW_US, CAPACITY] = [30_000, 70_000, 10]

  it.each([
    ['token-bucket', 'refillRate'],
    ['leaky-bucket', 'leakRate'],
  ])('%s, new rate: the level is converted, rounded against the client', async (algorithm, rate) => {
    for (let attempt = 0; ; attempt++) {
      const key = `key-${keys++}`
      const before = { capacity: CAPACITY, [rate]: '1/30ms' }
      const after = { capacity: CAPACITY, [rate]: '1/70ms' }
      const all = await turn('old', algorithm, before, key, CAPACITY)
      const one = await waitFor(() => turn('old', algorithm, before, key, 1))
      const look = await next.peek({ options: named(algorithm, after), key, cost: CAPACITY })
      const [allUs, oneUs, lookUs] = [all, one, look].map(({ timeMs }) => Math.round(timeMs * 1000)) as [
        number,
        number,
        number,
      ]
      // Try again if the bucket became full during a pause of the machine.
      if (oneUs - allUs >= OLD_US * CAPACITY && attempt < 5) continue
      // The missing part in the old unit: the whole capacity without the time passed, and the one unit taken again.
      const missing = OLD_US * CAPACITY - (oneUs - allUs) + OLD_US
      // In the new unit it is rounded up, and the time since counts at the new rate.
      const expectedUs = Number(ceilDiv(BigInt(missing) * BigInt(NEW_US), BigInt(OLD_US))) - (lookUs - oneUs)
      expect([look.allowed, Math.round(look.retryAfterMs * 1000)]).toStrictEqual([false, expectedUs])
      return
    }
  })

  function turn(
    who: 'old' | 'new',
    algorithm: string,
    numbers: Numbers,
    key: string,
    cost: number,
  ): Promise<Decision> {
    return (who === 'old' ? old : next).check({ options: named(algorithm, numbers), key, cost })
  }

  async function waitFor(check: () => Promise<Decision>): Promise<Decision> {
    for (;;) {
      const decision = await check()
      if (decision.allowed) return decision
      await new Promise((resolve) => setTimeout(resolve, decision.retryAfterMs))
    }
  }

  function ceilDiv(a: bigint, b: bigint): bigint {
    return (a + b - 1n) / b
  }
})

describe('old and new processes at the same time', () => {
  const ATTEMPTS = 3000
  const IN_FLIGHT = 300
  const WINDOWS = ['fixed-window', 'sliding-window-log', 'sliding-window-counter']

  /** The units that the two processes are allowed at one key, whose units do not become available again. */
  async function allowedOf(algorithm: string, before: Numbers, after: Numbers) {
    for (let attempt = 0; attempt < 3; attempt++) {
      const load = { key: `key-${keys++}`, attempts: ATTEMPTS, inFlight: IN_FLIGHT }
      const [ofOld, ofNew] = await Promise.all([
        old.load({ ...load, options: named(algorithm, before) }),
        next.load({ ...load, options: named(algorithm, after) }),
      ])
      expect([...ofOld.failures, ...ofNew.failures]).toStrictEqual([])
      const dayOf = (ms: number) => Math.floor(ms / DAY_MS)
      if (dayOf(Math.min(ofOld.firstMs, ofNew.firstMs)) !== dayOf(Math.max(ofOld.lastMs, ofNew.lastMs)))
        continue
      return { ofOld: ofOld.allowed, sum: ofOld.allowed + ofNew.allowed }
    }
    throw new Error('a day ended in each of three rounds')
  }

  it.each([...WINDOWS, 'leaky-bucket'])(
    '%s, 600 and 1,000: exactly 1,000 in all, at most 600 through the smaller limit',
    async (algorithm) => {
      const numbers = (size: number) =>
        algorithm === 'leaky-bucket' ? { capacity: size, leakRate: '1/1h' } : { limit: size, window: '1d' }
      for (const [before, after] of [
        [600, 1000],
        [1000, 600],
      ] as const) {
        const { ofOld, sum } = await allowedOf(algorithm, numbers(before), numbers(after))
        expect(sum).toBe(1000)
        expect(before === 600 ? ofOld : sum - ofOld).toBeLessThanOrEqual(600)
      }
    },
  )

  it('token-bucket, 600 and 1,000: between the two capacities', async () => {
    const numbers = (capacity: number) => ({ capacity, refillRate: '1/1h' })
    for (const [before, after] of [
      [600, 1000],
      [1000, 600],
    ] as const) {
      const { sum } = await allowedOf('token-bucket', numbers(before), numbers(after))
      expect(sum).toBeGreaterThanOrEqual(600)
      expect(sum).toBeLessThanOrEqual(1000)
    }
  })

  it.each(WINDOWS)('%s, windows of 1 d and 2 d: exactly the limit', async (algorithm) => {
    const { sum } = await allowedOf(algorithm, { limit: 1000, window: '1d' }, { limit: 1000, window: '2d' })
    expect(sum).toBe(1000)
  })

  it.each([
    ['token-bucket', 'refillRate'],
    ['leaky-bucket', 'leakRate'],
  ])('%s, rates of 1/1h and 3/7h: exactly the capacity', async (algorithm, rate) => {
    const { sum } = await allowedOf(
      algorithm,
      { capacity: 1000, [rate]: '1/1h' },
      { capacity: 1000, [rate]: '3/7h' },
    )
    expect(sum).toBe(1000)
  })

  describe('while time passes', () => {
    const DURATION_MS = 2000
    const LIMIT = 50
    const WINDOW_US = 200_000

    /** The store's times of all allowed checks of both processes, in whole microseconds and in order. */
    async function timesUs(algorithm: string, before: Numbers, after: Numbers): Promise<number[]> {
      const hammer = { key: `key-${keys++}`, durationMs: DURATION_MS, inFlight: 32 }
      const both = await Promise.all([
        old.hammer({ ...hammer, options: named(algorithm, before) }),
        next.hammer({ ...hammer, options: named(algorithm, after) }),
      ])
      // The process with the stricter policy may be allowed nothing, if the other uses every unit.
      for (const { denied, failed } of both) expect([denied > 0, failed]).toStrictEqual([true, 0])
      const all = both.flatMap(({ allowedMs }) => allowedMs.map((ms) => Math.round(ms * 1000)))
      expect(all.length).toBeGreaterThan(LIMIT)
      return all.sort((a, b) => a - b)
    }

    it.each(['fixed-window', 'sliding-window-counter'])(
      '%s, 50 in 200 ms and in 600 ms: never more than 50 in one window of 200 ms',
      async (algorithm) => {
        const all = await timesUs(algorithm, { limit: LIMIT, window: 200 }, { limit: LIMIT, window: 600 })
        const inWindow = new Map<number, number>()
        for (const us of all) {
          const window = Math.floor(us / WINDOW_US)
          inWindow.set(window, (inWindow.get(window) ?? 0) + 1)
        }
        expect(Math.max(...inWindow.values())).toBeLessThanOrEqual(LIMIT)
      },
    )

    it('sliding-window-log, 50 in 200 ms and in 600 ms: never more than 50 in any 200 ms', async () => {
      const [before, after] = [
        { limit: LIMIT, window: 200 },
        { limit: LIMIT, window: 600 },
      ]
      const all = await timesUs('sliding-window-log', before, after)
      for (const [i, us] of all.slice(LIMIT).entries()) expect(us - all[i]!).toBeGreaterThanOrEqual(WINDOW_US)
    })

    it.each([
      ['token-bucket', 'refillRate'],
      ['leaky-bucket', 'leakRate'],
    ])(
      '%s, 50 at 30/s and at 100/s: in any interval never more than 50 at 100/s',
      async (algorithm, rate) => {
        const [before, after] = [
          { capacity: LIMIT, [rate]: '3/100ms' },
          { capacity: LIMIT, [rate]: '7/70ms' },
        ]
        const all = await timesUs(algorithm, before, after)
        // From each unit to each later one, at most the capacity and the units refilled since.
        for (let from = 0; from < all.length; from++) {
          for (let to = from; to < all.length; to++) {
            const [units, us] = [to - from + 1, all[to]! - all[from]!]
            if (units > LIMIT + us / 10_000) expect.fail(`${units} units in ${us} µs`)
          }
        }
      },
    )
  })
})
