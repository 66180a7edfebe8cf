import type { BreakerSettings } from '../route.js'

export const BREAKER_DEFAULTS: BreakerSettings = {
  slidingWindowSize: 100,
  minimumNumberOfCalls: 100,
  failureRateThreshold: 50,
  waitMs: 60_000,
  halfOpenCalls: 10,
}

export type BreakerChange = 'opened' | 'closed'

/** Stops sending requests to an upstream that fails. */
export interface CircuitBreaker {
  /** Whether a request may be sent now. */
  readonly isAvailable: boolean
  /** Whether a request that is sent now is a trial. */
  readonly isHalfOpen: boolean
  /** Begins a request. False: it must not be sent. True: `record` or `abandon` must follow, with the same `kind`. */
  enter(kind?: TrialKind): boolean
  record(isFailure: boolean, kind?: TrialKind): void
  /** Ends a request whose outcome does not count for or against the upstream. */
  abandon(kind?: TrialKind): void
}

/**
 * Requests with an unfinished body have their own trials, because a client can make such a request last very long: it must
 * not use up the trials of other requests.
 */
export type TrialKind = 'whole' | 'unfinished'

export function createCircuitBreaker(
  settings: BreakerSettings,
  onChange: (change: BreakerChange) => void = () => {},
  now: () => number = () => performance.now(),
): CircuitBreaker {
  /** Ring of the latest outcomes; true: failed. */
  let outcomes: boolean[] = []
  let next = 0
  let failures = 0
  let openUntilMs = 0
  let state: 'closed' | 'open' | 'half-open' = 'closed'
  /** Requests in flight while half-open. */
  const trials = { whole: 0, unfinished: 0 }

  function update(): void {
    if (state !== 'open' || now() < openUntilMs) return
    state = 'half-open'
    clear()
  }

  function clear(): void {
    outcomes = []
    next = 0
    failures = 0
    trials.whole = 0
    trials.unfinished = 0
  }

  function open(): void {
    if (state === 'closed') onChange('opened')
    state = 'open'
    openUntilMs = now() + settings.waitMs
  }

  function isAvailable(kind: TrialKind): boolean {
    update()
    const hasTrial = trials[kind] + outcomes.length < settings.halfOpenCalls
    return state === 'closed' || (state === 'half-open' && hasTrial)
  }

  function endTrial(kind: TrialKind): void {
    trials[kind] = Math.max(0, trials[kind] - 1)
  }

  function count(isFailure: boolean, size: number): void {
    if (outcomes[next] === true) failures--
    outcomes[next] = isFailure
    next = (next + 1) % size
    if (isFailure) failures++
  }

  const failureRate = () => (failures / outcomes.length) * 100

  return {
    get isAvailable() {
      return isAvailable('whole')
    },
    get isHalfOpen() {
      update()
      return state === 'half-open'
    },
    enter(kind = 'whole') {
      if (!isAvailable(kind)) return false
      if (state === 'half-open') trials[kind]++
      return true
    },
    record(isFailure, kind = 'whole') {
      // The request began before the breaker opened.
      if (state === 'open') return
      if (state === 'half-open') {
        endTrial(kind)
        count(isFailure, settings.halfOpenCalls)
        if (outcomes.length < settings.halfOpenCalls) return
        if (failureRate() >= settings.failureRateThreshold) return open()
        state = 'closed'
        clear()
        return onChange('closed')
      }
      count(isFailure, settings.slidingWindowSize)
      const enough = Math.min(settings.minimumNumberOfCalls, settings.slidingWindowSize)
      if (outcomes.length >= enough && failureRate() >= settings.failureRateThreshold) open()
    },
    abandon(kind = 'whole') {
      if (state === 'half-open') endTrial(kind)
    },
  }
}
