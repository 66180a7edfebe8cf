import { type Clock, systemClock } from '../clock.js'
import { assertOptions, show } from '../errors.js'
import { numberOption, optionInvalid } from '../options.js'
import type { OnStoreFailure } from '../policy/index.js'
import { platformTimers, type Timers } from '../timers.js'
import { createEventLoopTime, eventLoopTime } from './event-loop-time.js'
import type { FailureEvent } from './events.js'
import { warnOnChange } from './warnings.js'

/** Options of `withFallback`, and of `failure` of `createLimiter`. */
export interface FailureOptions {
  /** The timeout of a call to the store, in milliseconds. Set it above the p99.9 latency of your network. Default: 50. */
  deadlineMs?: number
  /** The timeout of a call until the first connection, or in this process's own queue, in milliseconds. Default: 1000. */
  connectTimeoutMs?: number
  /** The maximum number of requests in flight; requests above it are counted in this process. Default: 5,000. */
  maxInFlight?: number
  /** Called synchronously for every event. Default: changes are printed as process warnings. */
  onEvent?: (event: FailureEvent) => void
}

/** The timers, clock and random numbers of a test. Not a public option. */
interface TestEnvironment {
  timers?: Timers
  clock?: Clock
  random?: () => number
}

/** The test hook: `{ [TEST_ENVIRONMENT]: { timers, clock, random } }` in the options. */
export const TEST_ENVIRONMENT = Symbol('tidegate.test-environment')

const MAX_DEADLINE_MS = 60_000
const MAX_MAX_IN_FLIGHT = 1_000_000

/** Validates the options and fills in their defaults. `caller` is the name of what takes them, for messages. */
export function parseFailureOptions(options: FailureOptions, caller = 'withFallback()') {
  assertOptions(caller, options, ['deadlineMs', 'connectTimeoutMs', 'maxInFlight', 'onEvent'])
  /** The modes of the policies that were used so far. */
  const modes = new Set<OnStoreFailure>()
  const { onEvent = warnOnChange(modes) } = options
  const whole = { from: 1, isWhole: true }
  const deadline = { ...whole, to: MAX_DEADLINE_MS }
  if (typeof onEvent !== 'function') {
    throw optionInvalid(
      'onEvent',
      `onEvent must be a function, got ${show(onEvent)}. Write for example onEvent: (event) => log.warn(event), or leave it out for process warnings.`,
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
