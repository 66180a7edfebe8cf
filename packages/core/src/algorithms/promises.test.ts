import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { ManualClock, msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { ALGORITHM_NAMES, type AlgorithmName, type RatePolicy } from '../policy/index.js'
import { randomTrace, type TraceOptions, type TraceStep } from '../testing/trace.js'
import { decide, type KeyState, refund } from './index.js'
import { timeOf, unitsOf } from './log.js'

// The guarantees of a decision, tested on traces with clocks that step back, numbers that change, refunds and resets.

/** Runs one key through a trace and passes every check to `look`, with the state before and after. */
function walk(
  algorithm: AlgorithmName,
  seed: number,
  options: Omit<TraceOptions, 'length'>,
  look: (at: {
    policy: RatePolicy
    now: number
    cost: number
    before: KeyState | undefined
    decision: Decision
    after: KeyState | undefined
  }) => void,
): void {
  let current: KeyState | undefined
  const taken = new Map<number, { timeUs: number; left: number }>()
  for (const [i, step] of randomTrace(seed, algorithm, { length: 60, ...options }).steps.entries()) {
    const now = msToUs(step.timeMs)
    if (step.do === 'reset') current = i % 3 === 0 ? undefined : current
    if (step.do === 'refund') current = refundStep(step, current, now, taken)
    if (step.do === 'charge') current = decide(step.policy, current, now, step.cost, 'charge').state
    if (step.do !== 'check') continue
    const { decision, state } = decide(step.policy, current, now, step.cost)
    look({ policy: step.policy, now, cost: step.cost, before: current, decision, after: state })
    current = state
    if (decision.allowed) taken.set(i, { timeUs: now, left: step.cost })
  }
}

/** A state in a form that can be compared: a log as its units, whichever array they are in. */
function comparable(state: KeyState | undefined): unknown {
  if (state?.algorithm !== 'sliding-window-log') return structuredClone(state)
  const { head, tail, expiresAt } = state
  const runs = Array.from({ length: tail - head }, (_, i) => ({
    time: timeOf(state, head + i),
    units: unitsOf(state, head + i),
  }))
  return { runs, expiresAt }
}

function refundStep(
  step: TraceStep & { do: 'refund' },
  current: KeyState | undefined,
  now: number,
  taken: Map<number, { timeUs: number; left: number }>,
): KeyState | undefined {
  const of = taken.get(step.ofStep)
  if (of === undefined || of.left === 0) return current
  const cost = Math.min(step.cost, of.left)
  of.left -= cost
  return refund(step.policy, current, now, of.timeUs, cost).state
}

const EVERYTHING: Omit<TraceOptions, 'length'> = {
  clockStepsBack: true,
  numbersChange: true,
  operations: ['charge'],
}
/** 139 years. Above, a double cannot hold milliseconds with three decimals: `msToUs(usToMs(us))` may differ from `us`. */
const MAX_EXACT_MS = 2 ** 42

describe.each(ALGORITHM_NAMES)('%s', (algorithm) => {
  const seeds = fc.integer({ min: 0, max: 2 ** 31 })

  it('denies until retryAfterMs, then allows', () => {
    holds(`retry-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ policy, now, cost, decision, after }) => {
        if (decision.allowed) return expect(decision.retryAfterMs).toBe(0)
        if (decision.retryAfterMs > MAX_EXACT_MS) return
        const retry = msToUs(decision.retryAfterMs)
        expect(retry).toBeGreaterThan(0)
        const allowedAfter = (us: number) => decide(policy, after, now + us, cost, 'peek').decision.allowed
        expect([allowedAfter(retry - 1), allowedAfter(retry)]).toStrictEqual([false, true])
      })
    })
  })

  it('has exactly `remaining` left, and the full limit exactly after resetAfterMs', () => {
    holds(`remaining-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ policy, now, decision, after }) => {
        const allows = (us: number, cost: number) =>
          decide(policy, after, now + us, cost, 'peek').decision.allowed
        const { remaining, limit } = decision
        if (remaining > 0) expect(allows(0, remaining)).toBe(true)
        if (remaining < limit) expect(allows(0, remaining + 1)).toBe(false)
        if (decision.resetAfterMs > MAX_EXACT_MS) return
        const reset = msToUs(decision.resetAfterMs)
        expect(allows(reset, limit)).toBe(true)
        if (reset > 0) expect(allows(reset - 1, limit)).toBe(false)
      })
    })
  })

  it('peeks the decision of a check, and changes nothing', () => {
    holds(`peek-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ policy, now, cost, before, decision }) => {
        const peek = decide(policy, before, now, cost, 'peek')
        expect(comparable(peek.state)).toStrictEqual(comparable(before))
        // A check that is denied can be charged, and then waits longer.
        if (policy.countDenied && !decision.allowed) return
        const { allowed, retryAfterMs, delayMs, timeMs } = peek.decision
        expect({ allowed, retryAfterMs, delayMs, timeMs }).toStrictEqual({
          allowed: decision.allowed,
          retryAfterMs: decision.retryAfterMs,
          delayMs: decision.delayMs,
          timeMs: decision.timeMs,
        })
        expect(peek.decision.remaining - decision.remaining).toBe(decision.allowed ? cost : 0)
      })
    })
  })

  it('keeps every number exact, also after large charges', () => {
    holds(`exact-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ decision, after }) => {
        const { expiresAt: _, ...numbers } = { ...after } as Record<string, unknown>
        for (const value of Object.values(numbers)) {
          if (typeof value === 'number') expect(value).toSatisfy(Number.isSafeInteger)
        }
        expect(decision.remaining).toSatisfy(Number.isSafeInteger)
        expect(decision.remaining).toBeGreaterThanOrEqual(0)
        expect(decision.retryAfterMs).toSatisfy(Number.isFinite)
        expect(decision.resetAfterMs).toSatisfy(Number.isFinite)
      })
    })
  })

  it('is pure: the same arguments give the same outcome and stay unchanged', () => {
    holds(`pure-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ policy, now, cost, before, decision, after }) => {
        const copy = comparable(before)
        const again = decide(policy, before, now, cost)
        expect([again.decision, comparable(again.state)]).toStrictEqual([decision, comparable(after)])
        expect(comparable(before)).toStrictEqual(copy)
      })
    })
  })

  it('decides the same with an expired state that was not deleted', () => {
    holds(`kept-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, EVERYTHING, ({ policy, now, cost, before, decision }) => {
        if (before === undefined) return
        const kept = { ...before, expiresAt: Number.MAX_SAFE_INTEGER }
        expect(decide(policy, kept, now, cost).decision).toStrictEqual(decision)
      })
    })
  })

  it('restores the state after an immediate refund', () => {
    holds(`undo-${algorithm}`, seeds, (seed) => {
      walk(algorithm, seed, {}, ({ policy, now, cost, before, decision, after }) => {
        if (!decision.allowed) return
        // A window that began with this check stays open.
        const began = after?.algorithm === 'fixed-window' && after.start === now
        if (began && policy.algorithm === 'fixed-window' && policy.windowKind === 'first-request') return
        const undone = refund(policy, after, now, now, cost)
        expect(undone.units).toBe(cost)
        for (const later of [0, 1, 500, 999_999, 60_000_000]) {
          const future = (current: KeyState | undefined) =>
            decide(policy, current, now + later, cost, 'peek').decision
          expect(future(undone.state)).toStrictEqual(future(before))
        }
      })
    })
  })
})

describe('no interval admits more than the bound, net of refunds', () => {
  /** The admitted units of one policy with their times, and refunds as negative units. The clock only moves forward. */
  function admitted(algorithm: AlgorithmName, seed: number) {
    const policy = randomTrace(seed, algorithm, { length: 1 }).steps[0]!.policy
    const events: { time: number; units: number; window: number }[] = []
    const taken = new Map<number, { timeUs: number; left: number }>()
    let current: KeyState | undefined
    const clock = new ManualClock()
    for (const [i, step] of randomTrace(seed, algorithm, { length: 120 }).steps.entries()) {
      clock.set(step.timeMs)
      const now = clock.nowUs()
      if (step.do === 'refund') {
        const of = taken.get(step.ofStep)
        if (of === undefined || of.left === 0) continue
        const cost = Math.min(step.cost, of.left, policy.limit)
        of.left -= cost
        const window = windowOf(current)
        const { units, state } = refund(policy, current, now, of.timeUs, cost)
        current = state
        if (units === 0) continue
        // A window counts refunded units as never taken; a bucket gets them back now.
        const time = algorithm.endsWith('bucket') ? now : of.timeUs
        events.push({ time, units: -units, window })
      } else if (step.do === 'check') {
        const cost = Math.min(step.cost, policy.limit)
        const { decision, state } = decide(policy, current, now, cost)
        current = state
        if (!decision.allowed) continue
        taken.set(i, { timeUs: now, left: cost })
        events.push({ time: now, units: cost, window: windowOf(state) })
      }
    }
    return { policy, events: events.sort((a, b) => a.time - b.time) }
  }

  /** The start of a fixed window; 0 for other states. */
  function windowOf(state: KeyState | undefined): number {
    return state?.algorithm === 'fixed-window' ? state.start : 0
  }

  const seeds = fc.integer({ min: 0, max: 2 ** 31 })

  it('fixed window: admits at most the limit in each window of every kind', () => {
    holds('bound-fixed-window', seeds, (seed) => {
      const { policy, events } = admitted('fixed-window', seed)
      if (policy.algorithm !== 'fixed-window') throw new Error('not a fixed window')
      const { windowKind, windowUs, calendar } = policy
      const counts = new Map<number, number>()
      for (const { time, units, window } of events) {
        if (windowKind === 'epoch') expect(window).toBe(Math.floor(time / windowUs) * windowUs)
        if (windowKind === 'calendar') expect(window).toBe(calendar!.windowAt(time).start)
        expect(time - window).toBeGreaterThanOrEqual(0)
        counts.set(window, (counts.get(window) ?? 0) + units)
      }
      for (const count of counts.values()) expect(count).toBeLessThanOrEqual(policy.limit)
      if (windowKind !== 'first-request') return
      const starts = [...counts.keys()].sort((a, b) => a - b)
      for (const [i, start] of starts.slice(1).entries())
        expect(start - starts[i]!).toBeGreaterThanOrEqual(windowUs)
    })
  })

  it.each([
    ['sliding-window-log', 1],
    // The estimate assumes even traffic in the last window; at worst nearly twice the limit is admitted.
    ['sliding-window-counter', 2],
  ] as const)('%s: %d × the limit in any window', (algorithm, times) => {
    holds(`bound-${algorithm}`, seeds, (seed) => {
      const { policy, events } = admitted(algorithm, seed)
      const windowUs = 'windowUs' in policy ? policy.windowUs : 0
      for (const { time: end } of events) {
        const inWindow = events.filter(({ time }) => time > end - windowUs && time <= end)
        expect(inWindow.reduce((sum, { units }) => sum + units, 0)).toBeLessThanOrEqual(times * policy.limit)
      }
    })
  })

  it.each(['token-bucket', 'leaky-bucket'] as const)('%s: capacity + rate × time', (algorithm) => {
    holds(`bound-${algorithm}`, seeds, (seed) => {
      const { policy, events } = admitted(algorithm, seed)
      if (!('n' in policy)) throw new Error('not a bucket')
      // Parts of a unit are refunded, so count in the unit of the level.
      const levels = events.map(({ units }) => Math.round(units * policy.d))
      for (const [i, first] of events.entries()) {
        let sum = 0
        for (let j = i; j < events.length; j++) {
          sum += levels[j]!
          const passed = events[j]!.time - first.time
          const most = policy.full + policy.n * passed
          if (sum <= most && most < Number.MAX_SAFE_INTEGER) continue
          expect(BigInt(sum) <= BigInt(policy.full) + BigInt(policy.n) * BigInt(passed)).toBe(true)
        }
      }
    })
  })
})
