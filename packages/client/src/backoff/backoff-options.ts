import { assertOptions, numberOption, optionInvalid, show } from '@tidegate/core'
import { type Wait, wait } from './wait.js'

/** Options of `withBackoff`. */
export interface BackoffOptions {
  /** The maximum number of attempts of one call, including the first. Default: 5. */
  maxAttempts?: number
  /** The maximum random wait before the second attempt, in milliseconds. It doubles with each attempt. Default: 1000. */
  firstBackoffMs?: number
  /** The maximum random wait before any attempt, in milliseconds. Default: 30,000. */
  maxBackoffMs?: number
  /** If the server requests a longer wait, in milliseconds, its response is returned. Default: 60,000. */
  maxRetryAfterMs?: number
  /** The maximum total wait of one call, in milliseconds. Default: 300,000. */
  maxTotalWaitMs?: number
  /** The statuses that are retried. Default: 429, 502, 503 and 504. */
  statuses?: readonly number[]
  /** The methods that are retried without an `Idempotency-Key` header. Default: GET, HEAD, OPTIONS, PUT and DELETE. */
  methods?: readonly string[]
  /** Whether to slow down before the server denies requests, using the quota in its headers. Default: false. */
  pace?: boolean
  /** Called before each wait. Default: none. */
  onWait?: (wait: BackoffWait) => void
  /** Returns milliseconds since the Unix epoch. Default: `Date.now`. */
  now?: () => number
  /** Returns a random number from 0 to below 1. Default: `Math.random`. */
  random?: () => number
  /** Resolves after a number of milliseconds, or rejects when the signal aborts. Default: a timer. */
  wait?: Wait
}

/** A wait before an attempt, for `onWait`. */
export interface BackoffWait {
  /** Why the call waits: the status of a response, a missing response, or pacing. */
  readonly reason: 'status' | 'no-response' | 'pace'
  /** The length of the wait, in milliseconds. */
  readonly waitMs: number
  /** The wait that the server requested, by `Retry-After` or the reset of an exhausted quota, in milliseconds. */
  readonly requestedMs?: number
  /** The number of attempts so far. */
  readonly attempts: number
  readonly method: string
  readonly url: string
  /** The status of the response, if there is one. */
  readonly status?: number
  /** The error of the request, if there is no response. */
  readonly error?: unknown
}

/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

export type BackoffSettings = Readonly<Required<BackoffOptions>>

/** The idempotent methods of RFC 9110, 9.2.2. */
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const TEMPORARY = [429, 502, 503, 504]

const OPTION_NAMES = [
  'maxAttempts',
  'firstBackoffMs',
  'maxBackoffMs',
  'maxRetryAfterMs',
  'maxTotalWaitMs',
  'statuses',
  'methods',
  'pace',
  'onWait',
  'now',
  'random',
  'wait',
] satisfies (keyof BackoffOptions)[]

export function parseBackoff(options: BackoffOptions): BackoffSettings {
  assertOptions('withBackoff()', options, OPTION_NAMES)
  const { statuses = TEMPORARY, methods = IDEMPOTENT, pace = false } = options
  const ms = (field: keyof BackoffOptions, otherwise: number) =>
    numberOption(field, options[field], { from: 0, to: MAX_TIMER_MS, otherwise })
  if (
    !Array.isArray(statuses) ||
    !statuses.every((one) => Number.isInteger(one) && one >= 400 && one < 600)
  ) {
    throw optionInvalid(
      'statuses',
      `statuses must be a list of statuses from 400 to 599, got ${show(statuses)}. Write for example [429, 503].`,
    )
  }
  if (
    !Array.isArray(methods) ||
    !methods.every((one) => typeof one === 'string' && one === one.toUpperCase())
  ) {
    throw optionInvalid(
      'methods',
      `methods must be a list of methods in upper case, got ${show(methods)}. Write for example ['GET', 'PUT'].`,
    )
  }
  if (typeof pace !== 'boolean')
    throw optionInvalid('pace', `pace must be true or false, got ${show(pace)}. Leave it out for false.`)
  const callbacks = { onWait: () => {}, now: Date.now, random: Math.random, wait }
  for (const field of ['onWait', 'now', 'random', 'wait'] as const) {
    const callback = options[field]
    if (callback === undefined) continue
    if (typeof callback !== 'function')
      throw optionInvalid(
        field,
        `${field} must be a function, got ${show(callback)}. Leave it out for the default.`,
      )
    Object.assign(callbacks, { [field]: callback })
  }
  return Object.freeze({
    maxAttempts: numberOption('maxAttempts', options.maxAttempts, {
      from: 1,
      to: 1000,
      otherwise: 5,
      isWhole: true,
    }),
    firstBackoffMs: ms('firstBackoffMs', 1000),
    maxBackoffMs: ms('maxBackoffMs', 30_000),
    maxRetryAfterMs: ms('maxRetryAfterMs', 60_000),
    maxTotalWaitMs: ms('maxTotalWaitMs', 300_000),
    statuses: [...statuses],
    methods: [...methods],
    pace,
    ...callbacks,
  })
}
