/** Closed: calls go through. Open: none does. Half-open: one goes through, to see. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** What stands before a call: it is asked for leave, and told what came of it. It knows nothing of stores. */
export interface Circuit {
  /** Leave to make one call, to be handed back with what came of it; `NO_LEAVE` if it must not be made. */
  ask(): Leave
  answered(leave: Leave): void
  failed(leave: Leave, error: unknown): void
  /** What came of it says nothing about the store. */
  cameToNothing(leave: Leave): void
}

export interface Breaker extends Circuit {
  readonly state: BreakerState
  /** How many calls have been answered. */
  readonly answers: number
  /** Milliseconds until a call may go through; 0 if it may now. */
  waitMs(): number
  /** There is reason to hope: the waits begin anew, with what has passed of the first. */
  mayBeBack(): void
}

export interface BreakerOptions {
  /** Milliseconds of a clock that never steps back. */
  now: () => number
  /** From 0 up to 1. */
  random: () => number
  /** The error is the one that opened it. */
  onChange: (state: BreakerState, error?: unknown) => void
}

type Leave = number

export const NO_LEAVE: Leave = -1

/**
 * Opens after 5 failures in a row, or when half of at least 20 calls in a second have failed. Then one call
 * goes through after 200 ms, to see; each one that fails doubles the wait, up to 2 s. All waits are random by a
 * fifth, so that many processes do not ask at the same moment. Whoever knows that the store may be back can say so:
 * the waits begin anew, and if the first is over, one call goes through at once.
 *
 * Calls that were made before a failure and failed with the very same error failed together: they travelled in
 * one message, or ran out of time in one moment. Of the failures it takes to open they are one.
 */
export function createBreaker({ now, random, onChange }: BreakerOptions): Breaker {
  let state: BreakerState = 'closed'
  let answers = 0
  let failuresInARow = 0
  let probeWaitMs = FIRST_PROBE_MS
  let probeAtMs = 0
  let openedAtMs = 0
  let isProbing = false
  let lastSecond = createLastSecond()
  /**
   * A leave is the number of the latest event at which it was given: of a failure, or of a change of state.
   * So it tells what came first.
   */
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
    // Never longer: it is also how long a store may be back without being used.
    openedAtMs = now()
    probeAtMs = openedAtMs + Math.min(probeWaitMs * spread, LONGEST_PROBE_MS)
    probeWaitMs = Math.min(probeWaitMs * 2, LONGEST_PROBE_MS)
    change('open', error)
  }

  function close(): void {
    isProbing = false
    probeWaitMs = FIRST_PROBE_MS
    failuresInARow = 0
    lastSecond = createLastSecond()
    change('closed')
  }

  return {
    get state() {
      return state
    },

    get answers() {
      return answers
    },

    ask() {
      if (state !== 'closed') {
        if (isProbing || now() < probeAtMs) return NO_LEAVE
        if (state === 'open') change('half-open')
        isProbing = true
      }
      return latest
    },

    answered(leave) {
      // From before the last change: it says how the store was, not how it is.
      if (leave < latestChange) return
      if (state !== 'closed') close()
      answers++
      failuresInARow = 0
      lastSecond.count(now(), 0, 0)
    },

    failed(leave, error) {
      if (leave < latestChange) return
      if (state !== 'closed') return open(error)
      const isTogether = error === latestError && leave < latestFailure
      if (!isTogether) {
        latestFailure = ++latest
        latestError = error
        failuresInARow++
      }
      const atMs = now()
      lastSecond.count(atMs, 1, isTogether ? 0 : 1)
      if (failuresInARow >= FAILURES_IN_A_ROW || lastSecond.isBad(atMs)) open(error)
    },

    cameToNothing(leave) {
      if (leave >= latestChange) isProbing = false
    },

    mayBeBack() {
      probeWaitMs = FIRST_PROBE_MS
      if (state !== 'open') return
      // A store that can be reached and still fails would otherwise be asked again and again.
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

/** The calls of the last second, counted in tenths of it. */
function createLastSecond() {
  const calls = new Array<number>(TENTHS).fill(0)
  const failed = new Array<number>(TENTHS).fill(0)
  /** Those that failed together are one here. */
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
    /** Half of enough calls have failed, and not all of them together. */
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
