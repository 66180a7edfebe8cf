/** The state of a circuit breaker. Closed: calls pass. Open: no calls pass. Half-open: one call passes, as a probe. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Guards calls. Each call first acquires a permit, and later reports its outcome with it. */
export interface Circuit {
  /** A permit for one call, or `NO_PERMIT` if the call must not be made. */
  acquire(): Permit
  succeeded(permit: Permit): void
  failed(permit: Permit, error: unknown, how?: FailureDetails): void
  /** Reports an outcome that does not show whether the store is healthy. */
  ignored(permit: Permit): void
}

interface FailureDetails {
  /** Whether a single failure opens the breaker. Default: false. */
  readonly isDefinite?: boolean
  /**
   * For timeouts: a stall makes many calls late, but is not an outage if a call succeeds within this many milliseconds of
   * the first timeout. Default: 0.
   */
  readonly stallMs?: number
}

export interface Breaker extends Circuit {
  readonly state: BreakerState
  /** The number of calls that have succeeded. */
  readonly successes: number
  /** Milliseconds until a call can pass; 0 if it can pass now. */
  waitMs(): number
  /** Reports that the store may be available again: the next probe uses the shortest wait, from when the breaker opened. */
  retrySoon(): void
}

export interface BreakerOptions {
  /** Milliseconds of a clock that never steps back. */
  now: () => number
  /** From 0 up to 1. */
  random: () => number
  /** `error` is the failure that opened the breaker. */
  onChange: (state: BreakerState, error?: unknown) => void
}

type Permit = number

export const NO_PERMIT: Permit = -1

/**
 * Opens after 5 failures in a row, when half of at least 20 calls in a second have failed, or immediately after a definite
 * failure such as a missing connection. Then one probe passes after 200 ms; each failed probe doubles the wait, up to 2 s.
 * Waits vary by 20 %, so that many processes do not probe at the same time.
 *
 * Calls made before a failure that fail with the same error object have failed together, in one message or at one time.
 * They count as one failure.
 */
export function createBreaker({ now, random, onChange }: BreakerOptions): Breaker {
  let state: BreakerState = 'closed'
  let successes = 0
  let failuresInARow = 0
  /** The time of the first failure since the last success. */
  let failingSinceMs: number | undefined
  let probeWaitMs = FIRST_PROBE_MS
  let probeAtMs = 0
  let openedAtMs = 0
  let isProbing = false
  let lastSecond = createLastSecond()
  /** A permit is the number of the latest failure or change of state when it was issued: permits order events. */
  let latest = 0
  let latestChange = 0
  let latestFailure = 0
  let latestError: unknown

  function change(to: BreakerState, error?: unknown): void {
    state = to
    latestChange = ++latest
    onChange(to, error)
  }

  function open(error: unknown): void {
    isProbing = false
    const spread = 1 - SPREAD + 2 * SPREAD * random()
    // Capped, because a recovered store stays unused until the next probe.
    openedAtMs = now()
    probeAtMs = openedAtMs + Math.min(probeWaitMs * spread, LONGEST_PROBE_MS)
    probeWaitMs = Math.min(probeWaitMs * 2, LONGEST_PROBE_MS)
    change('open', error)
  }

  function close(): void {
    isProbing = false
    probeWaitMs = FIRST_PROBE_MS
    failuresInARow = 0
    failingSinceMs = undefined
    lastSecond = createLastSecond()
    change('closed')
  }

  return {
    get state() {
      return state
    },

    get successes() {
      return successes
    },

    acquire() {
      if (state !== 'closed') {
        if (isProbing || now() < probeAtMs) return NO_PERMIT
        if (state === 'open') change('half-open')
        isProbing = true
      }
      return latest
    },

    succeeded(permit) {
      // A permit from before the last change: the outcome is outdated.
      if (permit < latestChange) return
      if (state !== 'closed') close()
      successes++
      failuresInARow = 0
      failingSinceMs = undefined
      lastSecond.count(now(), 0, 0)
    },

    failed(permit, error, { isDefinite = false, stallMs = 0 } = {}) {
      if (permit < latestChange) return
      if (state !== 'closed') return open(error)
      const atMs = now()
      failingSinceMs ??= atMs
      const isStall = atMs - failingSinceMs < stallMs
      const isTogether = error === latestError && permit < latestFailure
      if (!isTogether) {
        latestFailure = ++latest
        latestError = error
        if (!isStall) failuresInARow++
      }
      lastSecond.count(atMs, 1, isTogether ? 0 : 1)
      if (isDefinite || failuresInARow >= FAILURES_IN_A_ROW || lastSecond.isBad(atMs)) open(error)
    },

    ignored(permit) {
      if (permit >= latestChange) isProbing = false
    },

    retrySoon() {
      probeWaitMs = FIRST_PROBE_MS
      if (state !== 'open') return
      // A store that is reachable but keeps failing is still probed at most every FIRST_PROBE_MS.
      probeAtMs = Math.min(probeAtMs, Math.max(now(), openedAtMs + FIRST_PROBE_MS))
    },

    waitMs() {
      if (state === 'closed') return 0
      return Math.max(0, probeAtMs - now())
    },
  }
}

const FAILURES_IN_A_ROW = 5
const ENOUGH_CALLS = 20
const FIRST_PROBE_MS = 200
const LONGEST_PROBE_MS = 2000
const SPREAD = 0.2

/** Counts the calls of the last second, in tenths of a second. */
function createLastSecond() {
  const calls = new Array<number>(TENTHS).fill(0)
  const failed = new Array<number>(TENTHS).fill(0)
  /** Like `failed`, but calls that failed together count once. */
  const failures = new Array<number>(TENTHS).fill(0)
  let current = 0

  function moveTo(atMs: number): number {
    const tenth = Math.floor(atMs / (1000 / TENTHS))
    if (tenth !== current) {
      for (let i = Math.max(current + 1, tenth - TENTHS + 1); i <= tenth; i++) {
        calls[i % TENTHS] = failed[i % TENTHS] = failures[i % TENTHS] = 0
      }
      current = tenth
    }
    return tenth % TENTHS
  }

  return {
    count(atMs: number, asFailed: 0 | 1, asFailure: 0 | 1): void {
      const i = moveTo(atMs)
      calls[i]!++
      failed[i]! += asFailed
      failures[i]! += asFailure
    },
    /** Whether half of enough calls have failed, in enough separate failures. */
    isBad(atMs: number): boolean {
      moveTo(atMs)
      const all = sum(calls)
      return all >= ENOUGH_CALLS && sum(failed) * 2 >= all && sum(failures) >= FAILURES_IN_A_ROW
    },
  }
}

const TENTHS = 10

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
