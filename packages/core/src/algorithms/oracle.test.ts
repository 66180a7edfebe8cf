import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { Oracle, type OracleNumbers } from '../../test/oracle.js'
import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import {
  ALGORITHM_NAMES,
  type AlgorithmName,
  definePolicy,
  type RatePolicy,
  tokenBucket,
} from '../policy/index.js'
import { convertLevel } from './bucket-level.js'
import { decide, type KeyState, refund } from './index.js'

interface Numbers {
  policy: RatePolicy
  oracle: OracleNumbers
  /** The window, or the time to fill a bucket. Steps of the clock are multiples of it. */
  span: number
}

/** Small and huge limits, short and long windows, rates that do not divide evenly. */
function numbersOf(algorithm: AlgorithmName): fc.Arbitrary<Numbers> {
  const isLog = algorithm === 'sliding-window-log'
  const limits = fc.oneof(
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 1000 }),
    fc.integer({ min: 1, max: isLog ? 100_000 : 1_000_000_000 }),
  )
  if (!algorithm.endsWith('bucket')) {
    const windows = fc.oneof(
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(1000, 60_000, 86_400_000, 366 * 86_400_000),
      fc.integer({ min: 1, max: 366 * 86_400_000 }),
    )
    return fc.record({ limit: limits, window: windows }).map(({ limit, window }) => ({
      policy: definePolicy({ algorithm, limit, window: `${window}ms` }) as RatePolicy,
      oracle: { algorithm, limit: BigInt(limit), window: BigInt(window) * 1000n, units: 1n, per: 1n },
      span: window * 1000,
    }))
  }
  const rateField = algorithm === 'token-bucket' ? 'refillRate' : 'leakRate'
  return (
    fc
      .record({
        limit: limits,
        units: fc.integer({ min: 1, max: 100_000 }),
        perMs: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constantFrom(60_000, 3_600_000, 86_400_000)),
      })
      // Exact, and full again within 30 years: beyond 139 years, milliseconds lose microseconds.
      .filter(({ limit, perMs }) => limit * perMs * 1000 <= Number.MAX_SAFE_INTEGER)
      .filter(({ limit, units, perMs }) => (limit * perMs * 1000) / units <= 1e15)
      .map(({ limit, units, perMs }) => ({
        policy: definePolicy({
          algorithm,
          capacity: limit,
          [rateField]: `${units}/${perMs}ms`,
        }) as RatePolicy,
        oracle: {
          algorithm,
          limit: BigInt(limit),
          window: 1n,
          units: BigInt(units),
          per: BigInt(perMs) * 1000n,
        },
        span: Math.max(1, Math.floor((limit * perMs * 1000) / units)),
      }))
  )
}

interface Step {
  /** How far the clock moves first: by microseconds, by a share of the span, or to the edge of a span. */
  move: { by: 'us' | 'span' | 'edge'; amount: number }
  /** A share of the limit; 0 is a cost of 1. */
  cost: number
}

const step: fc.Arbitrary<Step> = fc.record({
  move: fc.oneof(
    fc.record({ by: fc.constant('us' as const), amount: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ by: fc.constant('span' as const), amount: fc.double({ min: 0, max: 2.5, noNaN: true }) }),
    fc.record({ by: fc.constant('edge' as const), amount: fc.integer({ min: -1, max: 1 }) }),
  ),
  cost: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
})

const EPOCH = 1_800_000_000_000_000

function moved(now: number, { by, amount }: Step['move'], span: number): number {
  if (by === 'us') return now + amount
  if (by === 'span') return now + Math.floor(span * amount)
  return now + span - (now % span) + amount
}

const costOf = (policy: RatePolicy, share: number) => Math.max(1, Math.floor(policy.limit * share))

function asOracle(decision: Decision) {
  return {
    allowed: decision.allowed,
    remaining: BigInt(decision.remaining),
    retryAfter: BigInt(msToUs(decision.retryAfterMs)),
    resetAfter: BigInt(msToUs(decision.resetAfterMs)),
    delay: BigInt(msToUs(decision.delayMs)),
  }
}

describe.each(ALGORITHM_NAMES)('%s', (algorithm) => {
  const steps = fc.array(step, { minLength: 1, maxLength: 25 })

  it('equals the oracle in every field, on every trace', () => {
    holds(
      `oracle-${algorithm}`,
      fc.tuple(numbersOf(algorithm), steps),
      ([{ policy, oracle, span }, trace]) => {
        const reference = new Oracle(oracle)
        let state: KeyState | undefined
        let now = EPOCH
        for (const { move, cost: share } of trace) {
          now = moved(now, move, span)
          const cost = costOf(policy, share)
          const outcome = decide(policy, state, now, cost)
          state = outcome.state
          expect(asOracle(outcome.decision)).toStrictEqual(reference.check(BigInt(now), BigInt(cost)))
        }
      },
    )
  })

  it('equals the oracle with charges, and where denied requests count', () => {
    const charging = fc.record({
      step,
      charge: fc.boolean(),
      share: fc.double({ min: 0, max: 1.5, noNaN: true }),
    })
    const traces = fc.array(charging, { minLength: 2, maxLength: 20 })
    const options = fc.record({ countDenied: fc.boolean(), first: fc.boolean() })
    holds(
      `charge-${algorithm}`,
      fc.tuple(numbersOf(algorithm), options, traces),
      ([{ policy: basePolicy, oracle, span }, { countDenied, first }, trace]) => {
        const windows = {
          ...(algorithm === 'fixed-window' && first ? { start: 'first-request' } : {}),
          countDenied,
        }
        const policy = definePolicy({
          ...basePolicy,
          ...(algorithm.endsWith('bucket') ? {} : { ...windows, window: `${span / 1000}ms` }),
        }) as RatePolicy
        const isBucket = algorithm.endsWith('bucket')
        const reference = new Oracle({ ...oracle, ...(isBucket ? {} : { countDenied, first }) })
        let state: KeyState | undefined
        let now = EPOCH
        let charges = 0
        for (const { step: entry, charge, share } of trace) {
          now = moved(now, entry.move, span)
          // Few of them: beyond 139 years, milliseconds lose microseconds.
          if (charge && charges++ < 2) {
            const cost = Math.max(1, Math.floor(policy.limit * share))
            const { decision, state: next } = decide(policy, state, now, cost, 'charge')
            state = next
            const { remaining, resetAfterMs, overBy = -1 } = decision
            expect({
              remaining: BigInt(remaining),
              resetAfter: BigInt(msToUs(resetAfterMs)),
              overBy: BigInt(overBy),
            }).toStrictEqual(reference.charge(BigInt(now), BigInt(cost)))
          }
          const cost = costOf(policy, entry.cost)
          const outcome = decide(policy, state, now, cost)
          state = outcome.state
          expect(asOracle(outcome.decision)).toStrictEqual(reference.check(BigInt(now), BigInt(cost)))
        }
      },
    )
  })

  it('equals the oracle when the clock steps back, a little or far', () => {
    const back = fc.record({
      step,
      back: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 4, noNaN: true })),
    })
    const traces = fc.array(back, { minLength: 2, maxLength: 20 })
    holds(
      `clock-${algorithm}`,
      fc.tuple(numbersOf(algorithm), traces),
      ([{ policy, oracle, span }, trace]) => {
        const reference = new Oracle(oracle)
        let state: KeyState | undefined
        // Far enough from 0 for four steps back of the longest span.
        let now = EPOCH
        for (const { step: forward, back: share } of trace) {
          now = Math.max(span, moved(now, forward.move, span) - Math.floor(span * share))
          const cost = costOf(policy, forward.cost)
          const outcome = decide(policy, state, now, cost)
          state = outcome.state
          expect(asOracle(outcome.decision)).toStrictEqual(reference.check(BigInt(now), BigInt(cost)))
        }
      },
    )
  })

  it('treats a clock one span behind as its own, and one microsecond more as another clock', () => {
    holds(`span-${algorithm}`, numbersOf(algorithm), ({ policy, oracle, span }) => {
      const byWindow = algorithm === 'fixed-window' || algorithm === 'sliding-window-counter'
      const newest = byWindow ? Math.floor(EPOCH / span) * span : EPOCH
      for (const back of [span - 1, span, span + 1]) {
        const reference = new Oracle(oracle)
        reference.check(BigInt(EPOCH), BigInt(policy.limit))
        const { state } = decide(policy, undefined, EPOCH, policy.limit)
        const now = newest - back
        expect(asOracle(decide(policy, state, now, 1).decision)).toStrictEqual(
          reference.check(BigInt(now), 1n),
        )
      }
    })
  })

  it('refunds the same as the oracle', () => {
    const refunding = fc.record({
      step,
      ofStep: fc.nat(20),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      refund: fc.boolean(),
    })
    const traces = fc.array(refunding, { minLength: 2, maxLength: 20 })
    holds(
      `refund-${algorithm}`,
      fc.tuple(numbersOf(algorithm), traces),
      ([{ policy, oracle, span }, trace]) => {
        const reference = new Oracle(oracle)
        const taken: { at: number; left: number }[] = []
        let state: KeyState | undefined
        let now = EPOCH
        for (const entry of trace) {
          now = moved(now, entry.step.move, span)
          const of = taken[entry.ofStep % Math.max(1, taken.length)]
          if (entry.refund && of !== undefined && of.left > 0) {
            const cost = Math.max(1, Math.floor(of.left * entry.share))
            of.left -= cost
            const refunded = refund(policy, state, now, of.at, cost)
            state = refunded.state
            expect(refunded.units).toBe(reference.refund(BigInt(now), BigInt(of.at), BigInt(cost)))
          }
          const cost = costOf(policy, entry.step.cost)
          const outcome = decide(policy, state, now, cost)
          state = outcome.state
          if (outcome.decision.allowed) taken.push({ at: now, left: cost })
          expect(asOracle(outcome.decision)).toStrictEqual(reference.check(BigInt(now), BigInt(cost)))
        }
      },
    )
  })
})

it('converts a level to another unit exactly, rounded against the client', () => {
  const levels = fc.tuple(
    fc.maxSafeInteger(),
    fc.integer({ min: 1, max: 2 ** 45 }),
    fc.integer({ min: 1, max: 366 * 86_400_000 }),
  )
  holds('convert', levels, ([level, unit, d]) => {
    const policy = tokenBucket({ capacity: 200, refillRate: `1000/${d}ms` })
    const product = BigInt(level) * BigInt(d)
    const down = product / BigInt(unit) - (product < 0n && product % BigInt(unit) !== 0n ? 1n : 0n)
    const up = product % BigInt(unit) === 0n ? down : down + 1n
    expect(BigInt(convertLevel(policy, level, unit, 'down'))).toBe(atMost(down))
    expect(BigInt(convertLevel(policy, level, unit, 'up'))).toBe(atMost(up))
  })

  function atMost(level: bigint): bigint {
    const max = BigInt(Number.MAX_SAFE_INTEGER)
    return level > max ? max : level < -max ? -max : level
  }
})
