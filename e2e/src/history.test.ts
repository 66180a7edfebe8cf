import {
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { excessOf, type Span } from './bounds.js'
import { type Check, phasesOf, verify } from './history.js'

const POLICIES: Policy[] = [
  fixedWindow({ limit: 3, window: 10, name: 'fixed' }),
  slidingWindowLog({ limit: 3, window: 10, name: 'log' }),
  slidingWindowCounter({ limit: 3, window: 10, name: 'counter' }),
  tokenBucket({ capacity: 3, refillRate: '3/10ms', name: 'token' }),
  leakyBucket({ capacity: 3, leakRate: '3/10ms', name: 'leaky' }),
]
const [fixed, log, counter, token] = POLICIES as [Policy, Policy, Policy, Policy]
/** The beginning of a window. */
const START_MS = 1_800_000_000_000

/** Whether the algorithm itself admits all of these, in this order. */
function admitsAll(policy: Policy, points: readonly { atMs: number; cost: number }[]): boolean {
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
  it('a history of known moments is right if and only if the algorithm admits all of it', () => {
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

  it('what some order of the decisions explains is never called wrong', () => {
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

/** Tries every millisecond for each. Those of one moment are of one order: what is admitted does not depend on it. */
function someOrderIsAdmitted(
  policy: Policy,
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

describe('intervals, looked at one by one', () => {
  /** Every interval from a beginning to an end, with everything that lies wholly in it. */
  function isKept(policy: Policy, spans: readonly Span[]): boolean {
    return spans.every(({ fromUs }) =>
      spans.every(({ toUs }) => {
        const units = spans
          .filter((span) => span.fromUs >= fromUs && span.toUs <= toUs)
          .reduce((sum, { cost }) => sum + cost, 0)
        return units <= mostWithin(policy, fromUs, toUs)
      }),
    )
  }

  function mostWithin(policy: Policy, fromUs: number, toUs: number): number {
    if ('d' in policy) return policy.limit + (policy.n * Math.max(0, toUs - fromUs)) / policy.d
    const { limit, windowUs, algorithm } = policy
    if (toUs < fromUs) return Number.POSITIVE_INFINITY
    if (algorithm === 'fixed-window') {
      return limit * (Math.floor(toUs / windowUs) - Math.floor(fromUs / windowUs) + 1)
    }
    return limit * (Math.floor((toUs - fromUs) / windowUs) + 1)
  }

  it.each([fixed, log, token].map((policy) => [policy.algorithm, policy] as const))(
    '%s says the same',
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

  it('with one unit too many is wrong, and says where', () => {
    expect(verify(four, fixed).violations).toStrictEqual([
      'k: 4 units in 1 windows of 3, from 1800000000000 on',
    ])
    expect(verify(four, log).violations).toHaveLength(1)
    expect(verify(four, counter).violations).toHaveLength(1)
    // Something has flowed in by then, but not a whole unit.
    expect(verify(four, token).violations).toHaveLength(1)
  })

  it.each([
    ['refused', { allowed: false }],
    ['of another key', { key: 'other' }],
    ['answered without the store', { degraded: 'open' as const }],
  ])('in which the fourth was %s is right', (_, more) => {
    const history = [...four.slice(0, 3), check(4, more)]
    for (const policy of POLICIES) expect(verify(history, policy).violations).toStrictEqual([])
  })

  it('begins anew where the store forgot', () => {
    const forgottenAtMs = [START_MS + 2.5]
    expect(verify(four, fixed, { forgottenAtMs }).violations).toStrictEqual([])
    const more = [5, 6].map((atMs) => check(atMs))
    expect(verify([...four, ...more], fixed, { forgottenAtMs }).violations).toStrictEqual([
      'k, forgotten 1 times: 4 units in 1 windows of 3, from 1800000000000 on',
    ])
  })

  it('in which a decision is dated outside of its check is wrong', () => {
    expect(verify([check(5, { atMs: START_MS + 9 })], fixed).violations).toStrictEqual([])
    expect(verify([check(5, { atMs: START_MS + 11 })], fixed).violations).toHaveLength(1)
  })

  it('sets the time without the store apart', () => {
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
