import type { Policy } from '@tidegate/core'
import { countUpTo } from './times.js'

/*
 * What is inside a limiter at any moment, told from its answers alone: which requests it let in, and how long
 * it said it needs until it is as if untouched, which is rounded up to a microsecond. So time can be dragged back and forth without asking again.
 */

/** The answers to requests made one after the other, as a limiter gives them. */
export interface Answers {
  readonly atMs: readonly number[]
  readonly allowed: readonly boolean[]
  readonly delayMs: readonly number[]
  /** The wait until the limiter is as if untouched, after each request. */
  readonly resetAfterMs: readonly number[]
}

export type LimiterState =
  | {
      readonly kind: 'fixed-window'
      readonly count: number
      readonly limit: number
      readonly elapsed: number
    }
  | {
      readonly kind: 'sliding-window-log'
      readonly count: number
      readonly limit: number
      /** How long ago each unit was let in, as a share of the window: 0 is now, 1 slides out. Oldest first. */
      readonly ages: readonly number[]
    }
  | {
      readonly kind: 'sliding-window-counter'
      readonly prev: number
      readonly curr: number
      readonly limit: number
      /** The share of the window that has passed. */
      readonly elapsed: number
      /** What counts as used: curr and the share of prev, rounded down. */
      readonly used: number
    }
  | { readonly kind: 'token-bucket'; readonly tokens: number; readonly capacity: number }
  | {
      readonly kind: 'leaky-bucket'
      readonly level: number
      readonly capacity: number
      /** How long a request that came now would wait. */
      readonly waitMs: number
    }

export type StateAt = (atMs: number) => LimiterState

export function stateOf(policy: Policy, originMs: number, answers: Answers): StateAt {
  const admitted = answers.atMs.filter((_, i) => answers.allowed[i])
  // Sums of milliseconds are a hair off; times are whole microseconds, and less than half of one is none.
  const admittedUpTo = (at: number) => countUpTo(admitted, at + 0.0004)
  /** The wait that is left of the last answer's, at `at`. */
  const untilReset = (at: number) => {
    const last = countUpTo(answers.atMs, at) - 1
    return last < 0 ? 0 : Math.max(0, answers.resetAfterMs[last]! - (at - answers.atMs[last]!))
  }

  switch (policy.algorithm) {
    case 'fixed-window':
      return (at) => {
        const { start, elapsed } = windowAt(originMs, at, policy.window)
        const count = admittedUpTo(at) - countBefore(admitted, start)
        return { kind: 'fixed-window', count, limit: policy.limit, elapsed }
      }
    case 'sliding-window-log':
      return (at) => {
        const ages = admitted
          .slice(admittedUpTo(at - policy.window), admittedUpTo(at))
          .map((time) => (at - time) / policy.window)
        return { kind: 'sliding-window-log', count: ages.length, limit: policy.limit, ages }
      }
    case 'sliding-window-counter':
      return (at) => {
        const { start, elapsed, leftUs } = windowAt(originMs, at, policy.window)
        const before = countBefore(admitted, start)
        const prev = before - countBefore(admitted, start - policy.window)
        const curr = admittedUpTo(at) - before
        const used = curr + Math.floor((prev * leftUs) / policy.windowUs)
        return { kind: 'sliding-window-counter', prev, curr, limit: policy.limit, elapsed, used }
      }
    case 'token-bucket': {
      const perMs = (1000 * policy.n) / policy.d
      const { capacity } = policy
      return (at) => ({ kind: 'token-bucket', tokens: capacity - untilReset(at) * perMs, capacity })
    }
    case 'leaky-bucket': {
      const perMs = (1000 * policy.n) / policy.d
      const { capacity } = policy
      return (at) => {
        const waitMs = untilReset(at)
        return { kind: 'leaky-bucket', level: waitMs * perMs, capacity, waitMs }
      }
    }
  }
}

/** How much of the limit is used, in units: the one number that all five have. */
export function usedIn(state: LimiterState): number {
  switch (state.kind) {
    case 'fixed-window':
    case 'sliding-window-log':
      return state.count
    case 'sliding-window-counter':
      return state.used
    case 'token-bucket':
      return state.capacity - state.tokens
    case 'leaky-bucket':
      return state.level
  }
}

/** The window, aligned to the epoch, that a moment of the axis falls in. */
function windowAt(originMs: number, at: number, windowMs: number) {
  const nowUs = Math.round((originMs + at) * 1000)
  const windowUs = windowMs * 1000
  const elapsedUs = nowUs % windowUs
  return {
    start: at - elapsedUs / 1000,
    elapsed: elapsedUs / windowUs,
    leftUs: windowUs - elapsedUs,
  }
}

/** How many of ascending `times` are before `at`, to the microsecond. */
function countBefore(times: readonly number[], at: number): number {
  return countUpTo(times, at - 0.0005)
}
