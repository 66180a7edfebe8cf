import { createLimiter, ManualClock, MemoryStore, type Policy } from '@tidegate/core'
import { type Answers, type StateAt, stateOf } from './state.js'

/** What one limiter made of the arrivals. Index i is the i-th request; times are milliseconds on the axis. */
export interface Run {
  readonly atMs: readonly number[]
  readonly allowed: readonly boolean[]
  /** How long a leaky bucket told each request to wait; else 0. */
  readonly delayMs: readonly number[]
  /** When requests were let in, ascending. */
  readonly admittedMs: readonly number[]
  /** What the limiter holds at any moment, all requests of that moment included. */
  readonly stateAt: StateAt
}

/** Asks the core itself, on a clock that is set to each arrival. `originMs` is when the axis starts. */
export function simulate(policy: Policy, originMs: number, arrivals: readonly number[]): Run {
  const clock = new ManualClock(originMs)
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  const decisions = arrivals.map((at) => {
    clock.set(originMs + at)
    return limiter.check('visitor')
  })
  const answers: Answers = {
    atMs: arrivals,
    allowed: decisions.map((decision) => decision.allowed),
    delayMs: decisions.map((decision) => decision.delayMs),
    resetAfterMs: decisions.map((decision) => decision.resetAfterMs),
  }
  return runOf(answers, stateOf(policy, originMs, answers))
}

export function runOf({ atMs, allowed, delayMs }: Answers, stateAt: StateAt): Run {
  return { atMs, allowed, delayMs, admittedMs: atMs.filter((_, i) => allowed[i]), stateAt }
}
