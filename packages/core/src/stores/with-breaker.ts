import type { Timers } from '../timers.js'
import { type BreakerState, type Circuit, NO_LEAVE } from './breaker.js'
import { type BreakerChange, createBreakers } from './breakers.js'
import { type Asked, type Guard, guardCalls, isPromise } from './guard-calls.js'
import type { ResetRequest, Store } from './store.js'
import { isFailureOf, isStoreFailure, storeFailed } from './store-failure.js'

export interface BreakerStoreOptions {
  timers: Timers
  /** From 0 up to 1. */
  random: () => number
  onChange: (change: BreakerChange) => void
  /** Told of each call that failed. */
  onFailure: (error: unknown) => void
}

/** A store with a breaker, and what can be seen of it. */
export interface BreakerStore extends Store {
  /** Of a store in parts, the worst. */
  readonly breakerState: BreakerState
  /** Milliseconds until calls may go through again, to all parts. */
  breakerWaitMs(): number
}

/**
 * The same store, except that it is not asked while it fails: a call then fails at once with `STORE_FAILED`.
 * It needs a deadline inside: a call that is never answered would be a probe that never ends.
 *
 * A store whose parts fail one by one (`partOf`) has a breaker for each: what is up stays in use.
 */
export function withBreaker(store: Store, options: BreakerStoreOptions): BreakerStore {
  const { timers, random, onChange, onFailure } = options
  const breakers = createBreakers({ now: timers.now, random, onChange })
  const whole = breakers.of(undefined)
  store.onReachable?.(breakers.mayBeBack)
  const notAsked = storeFailed('breaker-open', 'The store has failed, and it is too early to ask it again.')

  /** None of what is no request at all. It is for the store to say so, and says nothing about it. */
  function circuitOf(asked: Asked): Circuit | undefined {
    if (asked === undefined || asked === null) return undefined
    if (store.partOf === undefined) return whole
    try {
      if (!Array.isArray(asked)) return breakers.of(store.partOf(asked as ResetRequest))
      return breakers.ofAll(asked.map((request: ResetRequest) => store.partOf!(request)))
    } catch {
      return undefined
    }
  }

  const guard: Guard = (call, request) => {
    const circuit = circuitOf(request)
    if (circuit === undefined) return call(request)
    const leave = circuit.ask()
    if (leave === NO_LEAVE) throw notAsked

    function fail(error: unknown): never {
      if (isStoreFailure(error)) onFailure(error)
      const isEvidence = isStoreFailure(error) && !isFailureOf(error, 'timeout-of-busy-process')
      if (isEvidence) circuit!.failed(leave, error)
      else circuit!.cameToNothing(leave)
      throw error
    }

    let answer: ReturnType<typeof call>
    try {
      answer = call(request)
    } catch (error) {
      fail(error)
    }
    if (!isPromise(answer)) {
      // It was known here: a remembered refusal, for example. The store has not been asked.
      circuit.cameToNothing(leave)
      return answer
    }
    return answer.then((value) => {
      circuit.answered(leave)
      return value
    }, fail)
  }

  return {
    ...guardCalls(store, guard),
    get breakerState() {
      return breakers.state()
    },
    breakerWaitMs: breakers.waitMs,
  }
}
