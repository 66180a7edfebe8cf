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
  /** Begins a request. False: it must not be sent. True: `record` or `abandon` must follow. */
  enter(): boolean
  record(isFailure: boolean): void
  /** Ends a request whose outcome does not count for or against the upstream. */
  abandon(): void
}

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
  let trials = 0

  function update(): void {
    if (state !== 'open' || now() < openUntilMs) return
    state = 'half-open'
    clear()
  }

  function clear(): void {
    outcomes = []
    next = 0
    failures = 0
    trials = 0
  }

  function open(): void {
    if (state === 'closed') onChange('opened')
    state = 'open'
    openUntilMs = now() + settings.waitMs
  }

  function isAvailable(): boolean {
    update()
    return state === 'closed' || (state === 'half-open' && trials + outcomes.length < settings.halfOpenCalls)
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
      return isAvailable()
    },
    enter() {
      if (!isAvailable()) return false
      if (state === 'half-open') trials++
      return true
    },
    record(isFailure) {
      // The request began before the breaker opened.
      if (state === 'open') return
      if (state === 'half-open') {
        trials = Math.max(0, trials - 1)
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
    abandon() {
      if (state === 'half-open') trials = Math.max(0, trials - 1)
    },
  }
}
