import { type Clock, systemClock } from '../clock.js'
import { assertOptions, show } from '../errors.js'
import { numberOption, optionInvalid } from '../options.js'
import type { OnStoreFailure } from '../policy/index.js'
import { platformTimers, type Timers } from '../timers.js'
import { createEventLoopTime, eventLoopTime } from './event-loop-time.js'
import type { FailureEvent } from './events.js'
import { warnOnChange } from './warnings.js'

export interface FailureOptions {
  /** How long the store may take to answer, in milliseconds. Set it above the p99.9 of your network. Default: 50. */
  deadlineMs?: number
  /**
   * How long a call may wait for a first connection, or in this process's own queue, in milliseconds. Default: 1000.
   */
  connectTimeoutMs?: number
  /** The most requests that may wait for the store at once; the excess is counted in this process. Default: 5,000. */
  maxInFlight?: number
  /** Receives every event, synchronously. Default: changes are printed as process warnings. */
  onEvent?: (event: FailureEvent) => void
}

/** The timers, clock and random numbers of a test; not among the public options. */
interface TestEnvironment {
  timers?: Timers
  clock?: Clock
  random?: () => number
}

/** The test hook: `{ [TEST_ENVIRONMENT]: { timers, clock, random } }` among the options. */
export const TEST_ENVIRONMENT = Symbol('tidegate.test-environment')

const MAX_DEADLINE_MS = 60_000
const MAX_MAX_IN_FLIGHT = 1_000_000

/** The options with their defaults; rejects invalid ones. `of` is what takes them, for messages. */
export function parseFailureOptions(options: FailureOptions, of = 'withFallback()') {
  assertOptions(of, options, ['deadlineMs', 'connectTimeoutMs', 'maxInFlight', 'onEvent'])
  /** The modes of the policies that were used so far. */
  const modes = new Set<OnStoreFailure>()
  const { onEvent = warnOnChange(modes) } = options
  const whole = { from: 1, isWhole: true }
  const deadline = { ...whole, to: MAX_DEADLINE_MS }
  if (typeof onEvent !== 'function') {
    throw optionInvalid(
      'onEvent',
      `onEvent must be a function, got ${show(onEvent)}. Without it, changes are printed as process warnings.`,
    )
  }
  const test = (options as { [TEST_ENVIRONMENT]?: TestEnvironment })[TEST_ENVIRONMENT]
  const { timers = platformTimers, clock = systemClock, random = Math.random } = test ?? {}
  const loop = test?.timers === undefined ? eventLoopTime(timers.now) : createEventLoopTime(timers.now)
  return {
    deadlineMs: numberOption('deadlineMs', options.deadlineMs, { ...deadline, otherwise: 50 }),
    connectTimeoutMs: numberOption('connectTimeoutMs', options.connectTimeoutMs, {
      ...deadline,
      otherwise: 1000,
    }),
    maxInFlight: numberOption('maxInFlight', options.maxInFlight, {
      ...whole,
      to: MAX_MAX_IN_FLIGHT,
      otherwise: 5000,
    }),
    onEvent,
    modes,
    timers,
    loop,
    clock,
    random,
  }
}
