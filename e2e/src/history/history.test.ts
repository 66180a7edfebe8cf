import {
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { excessOf, type Span } from './bounds.js'
import { type Check, phasesOf, verify } from './history.js'

const POLICIES: RatePolicy[] = [
  fixedWindow({ limit: 3, window: 10, name: 'fixed' }),
  slidingWindowLog({ limit: 3, window: 10, name: 'log' }),
  slidingWindowCounter({ limit: 3, window: 10, name: 'counter' }),
  tokenBucket({ capacity: 3, refillRate: '3/10ms', name: 'token' }),
  leakyBucket({ capacity: 3, leakRate: '3/10ms', name: 'leaky' }),
]
const [fixed, log, counter, token] = POLICIES as [RatePolicy, RatePolicy, RatePolicy, RatePolicy]
/** The start of a window. */
const START_MS = 1_800_000_000_000

/** Whether the algorithm itself admits all of these, in this order. */
function admitsAll(policy: RatePolicy, points: readonly { atMs: number; cost: number }[]): boolean {
  const clock = new ManualClock(START_MS)
  const store = new MemoryStore({ clock })
  return points.every(({ atMs, cost }) => {
    clock.set(START_MS + atMs)
    return store.check({ policy, key: 'k', cost }).allowed
  })
}

const spanOf = (fromMs: number, toMs: number, cost: number): Span => ({
  fromUs: (START_MS + fromMs) * 1000,
  toUs: (START_MS + toMs) * 1000,
  cost,
})

const point = fc.record({ atMs: fc.integer({ min: 0, max: 60 }), cost: fc.integer({ min: 1, max: 3 }) })
const interval = fc
  .tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 3 }))
  .map(([fromMs, lengthMs, cost]) => ({ fromMs, toMs: fromMs + lengthMs, cost }))

describe.each(POLICIES.map((policy) => [policy.algorithm, policy] as const))('%s', (_, policy) => {
  it('a history with exact times is valid if and only if the algorithm admits it', () => {
    let wrong = 0
    fc.assert(
      fc.property(fc.array(point, { maxLength: 12 }), (points) => {
        const inOrder = [...points].sort((a, b) => a.atMs - b.atMs)
        const excess = excessOf(
          points.map(({ atMs, cost }) => spanOf(atMs, atMs, cost)),
          policy,
        )
        if (excess !== undefined) wrong++
        expect(excess === undefined, excess).toBe(admitsAll(policy, inOrder))
      }),
      { numRuns: 1000 },
    )
    expect(wrong).toBeGreaterThan(50)
    expect(wrong).toBeLessThan(950)
  })

  it('a history is valid if any order of decisions explains it', () => {
    let explained = 0
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 4 }), (intervals) => {
        if (!someOrderIsAdmitted(policy, intervals)) return
        explained++
        const spans = intervals.map(({ fromMs, toMs, cost }) => spanOf(fromMs, toMs, cost))
        expect(excessOf(spans, policy)).toBeUndefined()
      }),
      { numRuns: 400 },
    )
    expect(explained).toBeGreaterThan(50)
  })
})

/** Tries every millisecond of each interval. The order of decisions at one moment does not matter. */
function someOrderIsAdmitted(
  policy: RatePolicy,
  [first, ...rest]: readonly { fromMs: number; toMs: number; cost: number }[],
  chosen: readonly { atMs: number; cost: number }[] = [],
): boolean {
  if (first === undefined) {
    return admitsAll(
      policy,
      [...chosen].sort((a, b) => a.atMs - b.atMs),
    )
  }
  for (let atMs = first.fromMs; atMs <= first.toMs; atMs++) {
    if (someOrderIsAdmitted(policy, rest, [...chosen, { atMs, cost: first.cost }])) return true
  }
  return false
}

describe('compared with a check of every interval', () => {
  /** Checks every interval from a start to an end, with all spans that lie entirely within it. */
  function isKept(policy: RatePolicy, spans: readonly Span[]): boolean {
    return spans.every(({ fromUs }) =>
      spans.every(({ toUs }) => {
        const units = spans
          .filter((span) => span.fromUs >= fromUs && span.toUs <= toUs)
          .reduce((sum, { cost }) => sum + cost, 0)
        return units <= mostWithin(policy, fromUs, toUs)
      }),
    )
  }

  function mostWithin(policy: RatePolicy, fromUs: number, toUs: number): number {
    if ('d' in policy) return policy.limit + (policy.n * Math.max(0, toUs - fromUs)) / policy.d
    const { limit, windowUs, algorithm } = policy
    if (toUs < fromUs) return Number.POSITIVE_INFINITY
    if (algorithm === 'fixed-window') {
      return limit * (Math.floor(toUs / windowUs) - Math.floor(fromUs / windowUs) + 1)
    }
    return limit * (Math.floor((toUs - fromUs) / windowUs) + 1)
  }

  it.each([fixed, log, token].map((policy) => [policy.algorithm, policy] as const))(
    '%s: the same result',
    (_, policy) => {
      let wrong = 0
      fc.assert(
        fc.property(fc.array(interval, { maxLength: 15 }), (intervals) => {
          const spans = intervals.map(({ fromMs, toMs, cost }) => spanOf(fromMs, toMs, cost))
          const isRight = excessOf(spans, policy) === undefined
          if (!isRight) wrong++
          expect(isRight).toBe(isKept(policy, spans))
        }),
        { numRuns: 1000 },
      )
      expect(wrong).toBeGreaterThan(50)
      expect(wrong).toBeLessThan(950)
    },
  )
})

describe('a history', () => {
  const check = (atMs: number, more: Partial<Check> = {}): Check => ({
    startMs: START_MS + atMs - 0.1,
    endMs: START_MS + atMs + 0.1,
    key: 'k',
    cost: 1,
    allowed: true,
    ...more,
  })
  const four = [1, 2, 3, 4].map((atMs) => check(atMs))

  it('with one unit too many is a violation, with its time', () => {
    expect(verify(four, fixed).violations).toStrictEqual([
      'k: 4 units in 1 windows of 3, from 1800000000000 on',
    ])
    expect(verify(four, log).violations).toHaveLength(1)
    expect(verify(four, counter).violations).toHaveLength(1)
    // The bucket has refilled by less than one unit.
    expect(verify(four, token).violations).toHaveLength(1)
  })

  it.each([
    ['denied', { allowed: false }],
    ['of another key', { key: 'other' }],
    ['answered without the store', { degraded: 'open' as const }],
  ])('with a fourth check that was %s is not a violation', (_, more) => {
    const history = [...four.slice(0, 3), check(4, more)]
    for (const policy of POLICIES) expect(verify(history, policy).violations).toStrictEqual([])
  })

  it('starts again at a reset of the store', () => {
    const resetAtMs = [START_MS + 2.5]
    expect(verify(four, fixed, { resetAtMs }).violations).toStrictEqual([])
    const more = [5, 6].map((atMs) => check(atMs))
    expect(verify([...four, ...more], fixed, { resetAtMs }).violations).toStrictEqual([
      'k, after reset 1: 4 units in 1 windows of 3, from 1800000000000 on',
    ])
  })

  it('with the time of a decision outside of its check is a violation', () => {
    expect(verify([check(5, { atMs: START_MS + 9 })], fixed).violations).toStrictEqual([])
    expect(verify([check(5, { atMs: START_MS + 11 })], fixed).violations).toHaveLength(1)
  })

  it('has a phase for each period without the store', () => {
    const lost = { degraded: 'open' as const }
    const history = [
      check(1),
      check(2, lost),
      check(3, { ...lost, cost: 2 }),
      check(5),
      check(8, { ...lost, allowed: false }),
    ]
    expect(phasesOf(history)).toStrictEqual([
      { fromMs: START_MS + 1.9, toMs: START_MS + 3.1, answers: 2, admitted: 3 },
      { fromMs: START_MS + 7.9, toMs: START_MS + 8.1, answers: 1, admitted: 0 },
    ])
    expect(verify(history, fixed)).toMatchObject({ exact: { answers: 2, admitted: 2 } })
  })
})
