import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import {
  definePolicy,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy.js'
import type { Store } from '../store/store.js'
import { ReferenceStore } from './reference-store.js'
import { expectedDecision, START_MS, TABLES } from './tables.js'
import { randomTrace, runTrace } from './trace.js'

export interface ConformanceOptions {
  /** The test runner's own functions. */
  describe: (title: string, define: () => void) => void
  it: RunTest & { skip?: RunTest }
  /** Throws if the two are not alike: `assert.deepStrictEqual`, or `(a, b) => expect(a).toStrictEqual(b)`. */
  deepEqual: (actual: unknown, expected: unknown) => void
  /** A store with nothing in it whose time is this clock's. It is closed after each test. */
  open: (clock: ManualClock) => Store | Promise<Store>
  /** Tests this store cannot pass, each with the reason why. Default: none. */
  skip?: readonly Skip[]
}

type RunTest = (title: string, test: () => Promise<void>) => void

export interface Skip {
  /** The test's title. */
  test: string
  reason: string
}

/** What every store promises, as tests: run a store of your own through them. */
export function testStore({ describe, it, deepEqual, open, skip = [] }: ConformanceOptions): void {
  const left = new Set(skip.map(({ test }) => test))

  function promise(title: string, test: (store: Store, clock: ManualClock) => Promise<void>): void {
    const skipped = skip.find((entry) => entry.test === title)
    left.delete(title)
    if (skipped !== undefined) {
      // By the runner's own skip where it has one, so that its report counts it.
      const run = it.skip ?? it
      run(`${title} (skipped: ${skipped.reason})`, async () => {})
      return
    }
    it(title, async () => {
      const clock = new ManualClock(START_MS)
      const store = await open(clock)
      try {
        await test(store, clock)
      } finally {
        await store.close()
      }
    })
  }

  /** The code a call is refused with. */
  async function codeOf(call: () => unknown): Promise<string> {
    try {
      await call()
    } catch (error) {
      return error instanceof TidegateError ? error.code : String(error)
    }
    return 'no error'
  }

  async function take(store: Store, policy: Policy, key: string, cost = 1): Promise<Decision> {
    return store.check({ policy, key, cost })
  }

  /** Checks one unit at a time until one is refused, and counts. */
  async function fill(store: Store, policy: Policy, key: string): Promise<number> {
    for (let count = 0; ; count++) if (!(await take(store, policy, key)).allowed) return count
  }

  const EACH: readonly Policy[] = [
    fixedWindow({ limit: 10, window: '1m', name: 'each-fixed' }),
    slidingWindowLog({ limit: 10, window: '1m', name: 'each-log' }),
    slidingWindowCounter({ limit: 10, window: '1m', name: 'each-counter' }),
    tokenBucket({ capacity: 10, refillRate: '10/1m', name: 'each-token' }),
    leakyBucket({ capacity: 10, leakRate: '10/1m', name: 'each-leaky' }),
  ]

  describe('each algorithm', () => {
    for (const { title, policy, rows } of TABLES) {
      promise(title, async (store, clock) => {
        for (const row of rows) {
          clock.set(START_MS + row[0])
          deepEqual(await take(store, policy, 'k', row[1]), expectedDecision(policy, row, clock.nowMs()))
        }
      })
    }

    promise('decides random traces as the reference does', async (store, clock) => {
      for (const [i, { algorithm }] of EACH.entries()) {
        const trace = randomTrace(20_261_115 + i, algorithm, { length: 300 })
        const reference = new ManualClock(START_MS)
        const expected = await runTrace(trace, new ReferenceStore(reference), reference)
        deepEqual(await runTrace(trace, store, clock), expected)
        for (const key of new Set(trace.steps.map((step) => step.key))) {
          await store.reset({ policy: trace.steps[0]!.policy, key })
        }
      }
    })
  })

  describe('several limits at once', () => {
    const everybody = tokenBucket({ capacity: 5, refillRate: '1/1h', name: 'everybody' })
    const perUser = fixedWindow({ limit: 3, window: '1h', name: 'per-user' })

    promise('takes from all of them', async (store) => {
      const result = await store.take([
        { policy: everybody, key: 'all', cost: 1 },
        { policy: perUser, key: 'ann', cost: 2 },
      ])
      deepEqual([result.allowed, result.retryAfterMs], [true, 0])
      deepEqual(
        result.decisions.map((decision) => [decision?.policy, decision?.cost, decision?.remaining]),
        [
          ['everybody', 1, 4],
          ['per-user', 2, 1],
        ],
      )
    })

    promise('takes from none if one refuses', async (store) => {
      await take(store, perUser, 'ann', 3)
      const result = await store.take([
        { policy: everybody, key: 'all', cost: 2 },
        { policy: perUser, key: 'ann', cost: 1 },
      ])
      deepEqual([result.allowed, result.retryAfterMs], [false, 3_600_000])
      deepEqual(
        result.decisions.map((decision) => [decision?.allowed, decision?.remaining]),
        [
          [true, 5],
          [false, 0],
        ],
      )
      deepEqual((await store.peek({ policy: everybody, key: 'all', cost: 1 })).remaining, 5)
    })

    promise('waits as long as the slowest of them', async (store) => {
      const slow = leakyBucket({ capacity: 3, leakRate: '1/10s', name: 'slow' })
      const fast = leakyBucket({ capacity: 3, leakRate: '1/1s', name: 'fast' })
      const both = [slow, fast].map((policy) => ({ policy, key: 'k', cost: 2 }))
      deepEqual((await store.take(both)).delayMs, 0)
      const refused = await store.take(both)
      deepEqual([refused.allowed, refused.retryAfterMs, refused.delayMs], [false, 10_000, 0])
      const one = await store.take(both.map((request) => ({ ...request, cost: 1 })))
      deepEqual([one.allowed, one.delayMs], [true, 20_000])
    })

    promise('has nobody wait for what is refused, though one of them would', async (store) => {
      const leaky = leakyBucket({ capacity: 3, leakRate: '1/10s', name: 'leaky' })
      await take(store, leaky, 'k')
      await take(store, perUser, 'ann', 3)
      const refused = await store.take([
        { policy: leaky, key: 'k', cost: 1 },
        { policy: perUser, key: 'ann', cost: 1 },
      ])
      deepEqual([refused.allowed, refused.decisions[0]?.delayMs, refused.delayMs], [false, 10_000, 0])
    })

    promise('adds the costs of one policy and key', async (store) => {
      const request = { policy: perUser, key: 'ann', cost: 1 }
      const both = await store.take([request, { ...request, cost: 2 }])
      deepEqual(
        [both.allowed, ...both.decisions.map((decision) => [decision?.cost, decision?.remaining])],
        [true, [1, 0], [2, 0]],
      )
      deepEqual(
        await codeOf(() =>
          store.take([
            { ...request, cost: 2 },
            { ...request, cost: 2 },
          ]),
        ),
        'COST_ABOVE_LIMIT',
      )
    })

    promise('answers what was asked, whatever becomes of the list meanwhile', async (store) => {
      const policy = fixedWindow({ limit: 10, window: '1h' })
      const requests = ['a', 'b'].map((key, i) => ({ policy, key, cost: 2 + i }))
      const taking = store.take(requests)
      requests.length = 0
      const { decisions } = await taking
      deepEqual(
        decisions.map((decision) => [decision?.cost, decision?.remaining]),
        [
          [2, 8],
          [3, 7],
        ],
      )
    })

    promise('takes one policy written in two ways for one', async (store) => {
      const perSecond = tokenBucket({ capacity: 5, refillRate: 1 })
      const perMinute = tokenBucket({ capacity: 5, refillRate: '60/1m' })
      const { decisions } = await store.take(
        [perSecond, perMinute].map((policy) => ({ policy, key: 'k', cost: 2 })),
      )
      deepEqual(
        decisions.map((decision) => decision?.remaining),
        [1, 1],
      )
    })

    promise('counts each policy and key by itself', async (store) => {
      await store.take([
        { policy: perUser, key: 'ann', cost: 3 },
        { policy: perUser, key: 'bob', cost: 1 },
      ])
      deepEqual(await fill(store, perUser, 'bob'), 2)
      deepEqual(await fill(store, everybody, 'ann'), 5)
    })

    promise(
      'refuses one name with two sets of numbers, an empty list, and one that is too long',
      async (store) => {
        const other = fixedWindow({ limit: 4, window: '1h', name: 'per-user' })
        const requests = [perUser, other].map((policy) => ({ policy, key: 'k', cost: 1 }))
        deepEqual(await codeOf(() => store.take(requests)), 'TAKE_INVALID')
        deepEqual(await codeOf(() => store.take([])), 'TAKE_INVALID')
        const tooMany = Array.from({ length: 1001 }, () => requests[0]!)
        deepEqual(await codeOf(() => store.take(tooMany)), 'TAKE_INVALID')
        const thousand = fixedWindow({ limit: 1000, window: '1h', name: 'thousand' })
        const most = Array.from({ length: 1000 }, () => ({ policy: thousand, key: 'k', cost: 1 }))
        deepEqual((await store.take(most)).allowed, true)
        deepEqual((await store.peek({ policy: perUser, key: 'k', cost: 1 })).remaining, 3)
      },
    )
  })

  describe('exactness', () => {
    promise('admits exactly the limit of 200 parallel checks', async (store) => {
      for (const policy of EACH) {
        const all = await Promise.all(Array.from({ length: 200 }, () => take(store, policy, 'crowd')))
        deepEqual(
          [policy.algorithm, all.filter((decision) => decision.allowed).length],
          [policy.algorithm, 10],
        )
      }
    })

    promise('admits exactly the limit of 100 parallel takes of two limits', async (store) => {
      const wide = fixedWindow({ limit: 40, window: '1h', name: 'wide' })
      const narrow = tokenBucket({ capacity: 15, refillRate: '1/1h', name: 'narrow' })
      const requests = [
        { policy: wide, key: 'w', cost: 1 },
        { policy: narrow, key: 'n', cost: 1 },
      ]
      const all = await Promise.all(Array.from({ length: 100 }, () => store.take(requests)))
      deepEqual(all.filter((result) => result.allowed).length, 15)
      deepEqual((await store.peek({ policy: wide, key: 'w', cost: 1 })).remaining, 25)
    })
  })

  describe('peek and reset', () => {
    promise('peek says what check would say, and changes nothing', async (store) => {
      for (const policy of EACH) {
        const request = { policy, key: 'k', cost: 4 }
        const untouched = await store.peek(request)
        deepEqual([untouched.allowed, untouched.remaining, untouched.resetAfterMs], [true, 10, 0])
        deepEqual(await store.peek(request), untouched)
        deepEqual((await store.check(request)).remaining, 6)
        deepEqual((await store.check({ ...request, cost: 6 })).remaining, 0)
        const { retryAfterMs, allowed } = await store.peek(request)
        const check = await store.check(request)
        deepEqual([allowed, retryAfterMs], [false, check.retryAfterMs])
      }
    })

    promise('reset forgets one key of one policy', async (store) => {
      const [one, other] = [EACH[0]!, EACH[3]!]
      for (const key of ['ann', 'bob']) for (const policy of [one, other]) await take(store, policy, key, 10)
      await store.reset({ policy: one, key: 'ann' })
      const left = async (policy: Policy, key: string) =>
        (await store.peek({ policy, key, cost: 1 })).remaining
      deepEqual(
        [await left(one, 'ann'), await left(one, 'bob'), await left(other, 'ann'), await left(other, 'bob')],
        [10, 0, 0, 0],
      )
      await store.reset({ policy: one, key: 'nobody' })
    })
  })

  describe('costs', () => {
    promise('refuses what is not a whole number from 1 to the limit, and changes nothing', async (store) => {
      const policy = EACH[3]!
      for (const cost of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1' as never, null as never]) {
        deepEqual([cost, await codeOf(() => store.check({ policy, key: 'k', cost }))], [cost, 'COST_INVALID'])
        deepEqual([cost, await codeOf(() => store.peek({ policy, key: 'k', cost }))], [cost, 'COST_INVALID'])
      }
      deepEqual(await codeOf(() => store.check({ policy, key: 'k', cost: 11 })), 'COST_ABOVE_LIMIT')
      deepEqual(
        await codeOf(() =>
          store.take([
            { policy, key: 'k', cost: 1 },
            { policy, key: 'l', cost: 11 },
          ]),
        ),
        'COST_ABOVE_LIMIT',
      )
      deepEqual((await store.peek({ policy, key: 'k', cost: 10 })).remaining, 10)
    })

    promise('refuses a policy that was not made by a factory', async (store) => {
      const policy = { algorithm: 'fixed-window', name: 'each-fixed', limit: 10, window: 60_000 } as never
      deepEqual(await codeOf(() => store.check({ policy, key: 'k', cost: 1 })), 'POLICY_INVALID')
      deepEqual(
        await codeOf(() => store.check({ policy: undefined as never, key: 'k', cost: 1 })),
        'POLICY_INVALID',
      )
    })
  })

  describe('changed numbers', () => {
    promise('a new limit keeps what has been used', async (store) => {
      const before = fixedWindow({ limit: 10, window: '1h', name: 'changed' })
      const after = (limit: number) => fixedWindow({ limit, window: '1h', name: 'changed' })
      await take(store, before, 'k', 6)
      deepEqual((await store.peek({ policy: after(8), key: 'k', cost: 1 })).remaining, 2)
      deepEqual((await store.peek({ policy: after(4), key: 'k', cost: 1 })).remaining, 0)
      deepEqual((await take(store, after(20), 'k', 14)).remaining, 0)
    })

    promise('a smaller capacity cuts the level', async (store) => {
      const token = (capacity: number) => tokenBucket({ capacity, refillRate: '1/1h', name: 'cut-token' })
      const leaky = (capacity: number) => leakyBucket({ capacity, leakRate: '1/1h', name: 'cut-leaky' })
      await take(store, token(100), 'k', 1)
      deepEqual((await store.peek({ policy: token(10), key: 'k', cost: 1 })).remaining, 10)
      await take(store, leaky(100), 'k', 50)
      const cut = await store.peek({ policy: leaky(10), key: 'k', cost: 1 })
      deepEqual([cut.remaining, cut.retryAfterMs], [0, 3_600_000])
    })

    promise(
      'a new rate counts from the last write, and the level is converted against the client',
      async (store, clock) => {
        await take(store, tokenBucket({ capacity: 10, refillRate: '1/1s', name: 'rate' }), 'k', 10)
        clock.advance(1500)
        // 1.5 s at the new rate of 1 in 3 s are half a token.
        const slower = tokenBucket({ capacity: 10, refillRate: '1/3s', name: 'rate' })
        const decision = await take(store, slower, 'k')
        deepEqual([decision.allowed, decision.remaining, decision.retryAfterMs], [false, 0, 1500])
      },
    )

    promise('a new window takes an unfinished count over', async (store, clock) => {
      const hour = fixedWindow({ limit: 10, window: '1h', name: 'window' })
      const minute = fixedWindow({ limit: 10, window: '1m', name: 'window' })
      clock.advance(600_000)
      await take(store, hour, 'k', 7)
      deepEqual((await take(store, minute, 'k', 1)).remaining, 2)
      clock.advance(60_000)
      deepEqual((await take(store, minute, 'k', 1)).remaining, 9)
    })

    promise("until it is charged, a refused key follows its old window's end", async (store, clock) => {
      const hour = fixedWindow({ limit: 10, window: '1h', name: 'old' })
      const minute = fixedWindow({ limit: 5, window: '1m', name: 'old' })
      await take(store, hour, 'k', 7)
      const refused = await take(store, minute, 'k', 1)
      deepEqual([refused.allowed, refused.retryAfterMs], [false, 3_600_000])
      clock.advance(3_600_000)
      deepEqual((await take(store, minute, 'k', 1)).remaining, 4)
    })

    promise(
      "the counter's estimate becomes the new count; the log's times simply count",
      async (store, clock) => {
        const counter = (window: '1m' | '10m') =>
          slidingWindowCounter({ limit: 100, window, name: 'counter' })
        const log = (window: '1m' | '10m') => slidingWindowLog({ limit: 100, window, name: 'log' })
        for (const policy of [counter('1m'), log('1m')]) await take(store, policy, 'k', 80)
        clock.advance(90_000)
        deepEqual((await take(store, counter('10m'), 'k', 1)).remaining, 59)
        for (const policy of [log('1m')]) await take(store, policy, 'l', 10)
        clock.advance(30_000)
        await take(store, log('1m'), 'l', 10)
        deepEqual((await store.peek({ policy: log('10m'), key: 'l', cost: 1 })).remaining, 80)
      },
    )

    promise('another algorithm starts afresh, and never fails', async (store) => {
      for (const first of EACH) {
        for (const second of EACH) {
          if (first.algorithm === second.algorithm) continue
          await take(store, renamed(first), 'k', 10)
          deepEqual((await take(store, renamed(second), 'k')).remaining, 9)
          await store.reset({ policy: renamed(second), key: 'k' })
        }
      }
    })

    promise(
      'another algorithm ends what is counted of a key that it takes from or resets, and of no other',
      async (store) => {
        for (const first of EACH) {
          for (const second of EACH) {
            if (first.algorithm === second.algorithm) continue
            const [own, policy] = [renamed(first), renamed(second)]
            for (const key of ['taken', 'reset', 'left alone']) await take(store, own, key, 4)
            await take(store, policy, 'taken')
            await store.reset({ policy, key: 'reset' })
            const remaining = async (key: string) =>
              (await store.peek({ policy: own, key, cost: 1 })).remaining
            deepEqual(
              [await remaining('taken'), await remaining('reset'), await remaining('left alone')],
              [10, 10, 6],
            )
            await take(store, own, 'taken', 3)
            deepEqual((await store.peek({ policy, key: 'taken', cost: 1 })).remaining, 10)
            for (const key of ['taken', 'reset', 'left alone']) await store.reset({ policy: own, key })
          }
        }
      },
    )

    promise('nothing but a take under another algorithm ends what is counted', async (store) => {
      const full = fixedWindow({ limit: 1, window: '1h', name: 'full' })
      await take(store, full, 'k')
      for (const first of EACH) {
        for (const second of EACH) {
          if (first.algorithm === second.algorithm) continue
          const [own, policy] = [renamed(first), renamed(second)]
          const { timeMs } = await take(store, own, 'k', 10)
          deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
          deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 1 }), 0)
          await store.reset({ policy, key: 'other' })
          const requests = [policy, full].map((policy) => ({ policy, key: 'k', cost: 1 }))
          deepEqual((await store.take(requests)).allowed, false)
          deepEqual((await store.peek({ policy: own, key: 'k', cost: 1 })).remaining, 0)
          await store.reset({ policy: own, key: 'k' })
        }
      }
    })
  })

  describe('clocks', () => {
    promise('a clock that steps back gives no quota and costs at most one window', async (store, clock) => {
      for (const policy of EACH) {
        clock.set(START_MS + 30_000)
        await take(store, policy, 'k', 10)
        clock.advance(-60_000)
        const back = await take(store, policy, 'k')
        deepEqual([policy.algorithm, back.allowed], [policy.algorithm, false])
        clock.advance(-86_400_000)
        const far = await take(store, policy, 'k')
        deepEqual(
          [policy.algorithm, far.allowed, far.retryAfterMs <= 120_000],
          [policy.algorithm, false, true],
        )
        clock.advance(far.retryAfterMs)
        deepEqual([policy.algorithm, (await take(store, policy, 'k')).allowed], [policy.algorithm, true])
      }
    })

    promise(
      'a clock exactly one span behind is its own, and one a millisecond more is not',
      async (store, clock) => {
        for (const policy of EACH) {
          for (const behindMs of [60_000, 60_001]) {
            const same = new ReferenceStore(clock)
            clock.set(START_MS)
            for (const one of [same, store]) await take(one, policy, `k${behindMs}`, 10)
            clock.advance(-behindMs)
            const request = { policy, key: `k${behindMs}`, cost: 1 }
            deepEqual(await store.peek(request), same.peek(request))
          }
        }
      },
    )

    promise('waits are counted from the real now', async (store, clock) => {
      const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'behind' })
      await take(store, policy, 'k', 10)
      clock.advance(-4000)
      const refused = await take(store, policy, 'k')
      deepEqual([refused.retryAfterMs, refused.resetAfterMs, refused.timeMs], [5000, 14_000, START_MS - 4000])
    })

    promise('a state from another clock is moved to this one, even by a refusal', async (store, clock) => {
      const policy = slidingWindowLog({ limit: 2, window: '10s', name: 'moved' })
      await take(store, policy, 'k')
      clock.advance(4000)
      await take(store, policy, 'k')
      clock.advance(-3_600_000)
      deepEqual((await take(store, policy, 'k')).retryAfterMs, 6000)
      clock.advance(6000)
      deepEqual((await take(store, policy, 'k')).allowed, true)
    })

    promise('a take that is refused moves the limits that did not refuse, too', async (store, clock) => {
      const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
      const bucket = tokenBucket({ capacity: 10, refillRate: 1, name: 'moved-bucket' })
      await take(store, bucket, 'k', 5)
      clock.advance(-3_600_000)
      await take(store, full, 'k')
      deepEqual(
        (
          await store.take([
            { policy: full, key: 'k', cost: 1 },
            { policy: bucket, key: 'k', cost: 1 },
          ])
        ).allowed,
        false,
      )
      clock.advance(3000)
      deepEqual((await store.peek({ policy: bucket, key: 'k', cost: 1 })).remaining, 8)
    })
  })

  describe('refunds', () => {
    promise('a check and its refund leave the key as if neither had come', async (store, clock) => {
      for (const policy of EACH) {
        await take(store, policy, 'k', 3)
        clock.advance(1000)
        const before = await store.peek({ policy, key: 'k', cost: 1 })
        const { timeMs } = await take(store, policy, 'k', 4)
        deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 4 }), 4)
        deepEqual(await store.peek({ policy, key: 'k', cost: 1 }), before)
      }
    })

    promise('refuses a refund of no whole number, or of no time', async (store) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        for (const wrong of [
          { cost: 0 },
          { cost: -1 },
          { cost: 1.5 },
          { cost: Number.NaN },
          { timeMs: Number.NaN },
        ]) {
          deepEqual(
            await codeOf(() => store.refund({ policy, key: 'k', timeMs, cost: 1, ...wrong })),
            'REFUND_INVALID',
          )
        }
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 5)
      }
    })

    promise('gives back in parts', async (store) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        for (const cost of [2, 3]) deepEqual(await store.refund({ policy, key: 'k', timeMs, cost }), cost)
        deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 10)
      }
    })

    promise("gives nothing once the decision's time no longer counts", async (store, clock) => {
      for (const policy of EACH) {
        const { timeMs } = await take(store, policy, 'k', 5)
        clock.advance(policy.algorithm === 'sliding-window-counter' ? 120_000 : 60_000)
        await take(store, policy, 'k', 5)
        deepEqual(
          [policy.algorithm, await store.refund({ policy, key: 'k', timeMs, cost: 5 })],
          [policy.algorithm, 0],
        )
        deepEqual(await store.refund({ policy, key: 'nobody', timeMs, cost: 1 }), 0)
      }
    })

    promise('the counter gives back to the window before, too', async (store, clock) => {
      const policy = slidingWindowCounter({ limit: 100, window: '1m', name: 'counter' })
      const { timeMs } = await take(store, policy, 'k', 80)
      clock.advance(90_000)
      deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 60 }), 60)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).remaining, 90)
    })

    promise('a bucket takes back no more than it has room for', async (store, clock) => {
      const policy = tokenBucket({ capacity: 10, refillRate: 1, name: 'token' })
      const { timeMs } = await take(store, policy, 'k', 4)
      clock.advance(2500)
      deepEqual(await store.refund({ policy, key: 'k', timeMs, cost: 4 }), 1.5)
      deepEqual((await store.peek({ policy, key: 'k', cost: 1 })).resetAfterMs, 0)
    })
  })

  describe('keys', () => {
    const policy = fixedWindow({ limit: 1, window: '1h', name: 'keys' })

    promise('odd keys are keys like any other', async (store) => {
      const odd = [
        '__proto__',
        'constructor',
        'hasOwnProperty',
        '0',
        ' ',
        'a b',
        '{a}',
        '{b}',
        '%7Ba%7D',
        '%',
        'a:b',
        '🦭',
        '한국어',
        'é',
        'e\u0301',
        'x'.repeat(256),
        '🦭'.repeat(64),
      ]
      for (const key of odd) deepEqual([key, (await take(store, policy, key)).allowed], [key, true])
      for (const key of odd) deepEqual([key, (await take(store, policy, key)).allowed], [key, false])
    })

    promise('a policy name and a key never run into another pair', async (store) => {
      const names = ['a', 'a-b', 'a_b']
      for (const name of names)
        for (const key of ['b', 'b:c', 'a:b', ':', '-b']) {
          const decision = await take(store, fixedWindow({ limit: 1, window: '1h', name }), key)
          deepEqual([name, key, decision.allowed], [name, key, true])
        }
    })

    promise('what is no key is refused', async (store) => {
      const bad = [
        '',
        'x'.repeat(257),
        `${'🦭'.repeat(64)}x`,
        '\ud800',
        'a\udc00b',
        'a\nb',
        '\u0000',
        '\u007f',
        '\u0085',
        '\u009f',
        5 as never,
        undefined as never,
        null as never,
      ]
      for (const key of bad) {
        for (const call of [
          () => store.check({ policy, key, cost: 1 }),
          () => store.peek({ policy, key, cost: 1 }),
          () => store.reset({ policy, key }),
          () => store.refund({ policy, key, timeMs: START_MS, cost: 1 }),
          () =>
            store.take([
              { policy, key: 'fine', cost: 1 },
              { policy, key, cost: 1 },
            ]),
        ]) {
          deepEqual([key, await codeOf(call)], [key, 'KEY_INVALID'])
        }
      }
      deepEqual((await store.peek({ policy, key: 'fine', cost: 1 })).remaining, 1)
    })
  })

  describe('closing', () => {
    promise('what is called after close fails with STORE_FAILED', async (store) => {
      await store.close()
      deepEqual(await codeOf(() => store.check({ policy: EACH[0]!, key: 'k', cost: 1 })), 'STORE_FAILED')
    })
  })

  describe('the skip list', () => {
    it('names tests that there are', async () => deepEqual([...left], []))
  })
}

/** The same numbers under one name. */
function renamed(policy: Policy): Policy {
  return definePolicy({ ...policy, name: 'shared-name' })
}
