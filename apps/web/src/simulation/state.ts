import type { FixedWindowPolicy, RatePolicy } from '@tidegate/core'
import { countUpTo } from './times.js'

/*
 * The state of a limiter at any time, derived from the charges of successive requests: their times, and `resetAfterMs`,
 * which is rounded up to a microsecond. So the clock can move freely without new checks.
 */

/** What successive requests changed in the state of a limiter. */
export interface Charges {
  readonly atMs: readonly number[]
  /** Whether the request was charged: it was allowed, or the policy counts denied requests. */
  readonly charged: readonly boolean[]
  /** Time until the count is 0 again, after each request. A block does not change the count. */
  readonly resetAfterMs: readonly number[]
  /** When the key was blocked, ascending. */
  readonly blocks: readonly Block[]
}

/** A time in which a key was blocked, end excluded. */
export interface Block {
  readonly fromMs: number
  readonly toMs: number
}

export type LimiterState = AlgorithmState & {
  /** How long the key is still blocked; 0 if it is not. */
  readonly blockedMs: number
}

export type AlgorithmState =
  | {
      readonly kind: 'fixed-window'
      readonly count: number
      readonly limit: number
      /** The share of the window that has passed; undefined before the first request opens one. */
      readonly elapsed: number | undefined
    }
  | {
      readonly kind: 'sliding-window-log'
      readonly count: number
      readonly limit: number
      /** Age of each unit as a share of the window, from 0 (now) to 1 (leaves the log). Oldest first. */
      readonly ages: readonly number[]
    }
  | {
      readonly kind: 'sliding-window-counter'
      readonly prev: number
      readonly curr: number
      readonly limit: number
      /** The share of the window that has passed. */
      readonly elapsed: number
      /** The estimate: curr plus the weighted share of prev, rounded down. */
      readonly used: number
    }
  | { readonly kind: 'token-bucket'; readonly tokens: number; readonly capacity: number }
  | {
      readonly kind: 'leaky-bucket'
      readonly level: number
      readonly capacity: number
      /** Delay of a request that arrives now. */
      readonly waitMs: number
    }

export type StateAt = (atMs: number) => LimiterState

export function stateOf(policy: RatePolicy, originMs: number, charges: Charges): StateAt {
  const algorithmStateAt = algorithmStateOf(policy, originMs, charges)
  return (at) => {
    const block = charges.blocks.findLast(({ fromMs }) => fromMs <= at)
    return { ...algorithmStateAt(at), blockedMs: Math.max(0, (block?.toMs ?? at) - at) }
  }
}

function algorithmStateOf(
  policy: RatePolicy,
  originMs: number,
  charges: Charges,
): (atMs: number) => AlgorithmState {
  const charged = charges.atMs.filter((_, i) => charges.charged[i])
  // Sums of milliseconds have rounding errors. Times are whole microseconds, so less than half of one is an error.
  const chargedUpTo = (at: number) => countUpTo(charged, at + 0.0004)
  /** The part of the last `resetAfterMs` that is left at `at`. */
  const untilReset = (at: number) => {
    const last = countUpTo(charges.atMs, at) - 1
    return last < 0 ? 0 : Math.max(0, charges.resetAfterMs[last]! - (at - charges.atMs[last]!))
  }

  switch (policy.algorithm) {
    case 'fixed-window': {
      const windowOf = fixedWindows(policy, originMs, charged)
      return (at) => {
        const window = windowOf(at)
        const count = window === undefined ? 0 : chargedUpTo(at) - countBefore(charged, window.start)
        return { kind: 'fixed-window', count, limit: policy.limit, elapsed: window?.elapsed }
      }
    }
    case 'sliding-window-log':
      return (at) => {
        const ages = charged
          .slice(chargedUpTo(at - policy.window), chargedUpTo(at))
          // With denied requests the log can be longer than the limit; it keeps at most twice as many units.
          .slice(-2 * policy.limit)
          .map((time) => (at - time) / policy.window)
        return { kind: 'sliding-window-log', count: ages.length, limit: policy.limit, ages }
      }
    case 'sliding-window-counter':
      return (at) => {
        const { start, elapsed, leftUs } = windowAt(originMs, at, policy.window)
        const before = countBefore(charged, start)
        const prev = before - countBefore(charged, start - policy.window)
        const curr = chargedUpTo(at) - before
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

/** Used units, the one number that all five algorithms have. */
export function usedIn(state: AlgorithmState): number {
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

/** Finds the fixed window that contains a time of the axis. */
function fixedWindows(policy: FixedWindowPolicy, originMs: number, charged: readonly number[]) {
  if (policy.windowKind === 'epoch') return (at: number) => windowAt(originMs, at, policy.windowUs / 1000)
  const { calendar } = policy
  if (calendar !== undefined) {
    return (at: number) => {
      const nowUs = Math.round((originMs + at) * 1000)
      const { start, end } = calendar.windowAt(nowUs)
      return { start: start / 1000 - originMs, elapsed: (nowUs - start) / (end - start) }
    }
  }
  const windowMs = policy.windowUs / 1000
  const starts = firstRequestStarts(charged, windowMs)
  return (at: number) => {
    const start = starts[countUpTo(starts, at) - 1]
    const elapsed = start === undefined ? 1 : (at - start) / windowMs
    return start === undefined || elapsed > 1 - 0.0005 / windowMs ? undefined : { start, elapsed }
  }
}

/** The times of requests that open a window: the first, and each one after the end of the window before. */
export function firstRequestStarts(charged: readonly number[], windowMs: number): number[] {
  const starts: number[] = []
  for (const at of charged) {
    if (at - (starts.at(-1) ?? Number.NEGATIVE_INFINITY) > windowMs - 0.0005) starts.push(at)
  }
  return starts
}

/** The epoch-aligned window that contains a time of the axis. */
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

/** The number of ascending `times` before `at`, with microsecond precision. */
function countBefore(times: readonly number[], at: number): number {
  return countUpTo(times, at - 0.0005)
}
