import { assertOptions, numberOption, optionInvalid, show } from '@tidegate/core'
import { type Wait, wait } from './wait.js'

export interface BackoffOptions {
  /** How many times a request is sent at most. Default: 5. */
  maxAttempts?: number
  /** The upper bound of the random part of the first wait. It doubles with each attempt. Default: 1000. */
  firstBackoffMs?: number
  /** The largest upper bound of the random part. Default: 30,000. */
  maxBackoffMs?: number
  /** If the server requests a longer wait than this, its response is returned. Default: 60,000. */
  maxRetryAfterMs?: number
  /** The longest total wait of one call. Default: 300,000. */
  maxTotalWaitMs?: number
  /** The statuses after which a request is retried. Default: 429, 502, 503 and 504. */
  statuses?: readonly number[]
  /** The methods that are retried without an `Idempotency-Key`. Default: GET, HEAD, OPTIONS, PUT and DELETE. */
  methods?: readonly string[]
  /** Whether to slow down before the server denies requests, by the quota in its headers. Default: false. */
  pace?: boolean
  /** Called before each wait. Default: none. */
  onWait?: (wait: BackoffWait) => void
  /** Milliseconds since the epoch. Default: `Date.now`. */
  now?: () => number
  /** From 0 to below 1. Default: `Math.random`. */
  random?: () => number
  /** Resolves after the given milliseconds, or rejects when the signal aborts. Default: a timer. */
  wait?: Wait
}

/** One wait of a call. */
export interface BackoffWait {
  /** The status of a response, a request without a response, or pacing. */
  readonly reason: 'status' | 'no-response' | 'pace'
  readonly waitMs: number
  /** The wait that the server requested, in `Retry-After` or as the reset of an exhausted quota. */
  readonly requestedMs?: number
  /** How many times the request has been sent so far. */
  readonly attempts: number
  readonly method: string
  readonly url: string
  readonly status?: number
  readonly error?: unknown
}

/** The longest time that a timer can wait. */
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
      `statuses must be a list of statuses from 400 to 599, such as [429, 503], got ${show(statuses)}.`,
    )
  }
  if (
    !Array.isArray(methods) ||
    !methods.every((one) => typeof one === 'string' && one === one.toUpperCase())
  ) {
    throw optionInvalid(
      'methods',
      `methods must be a list of methods in upper case, such as ['GET', 'PUT'], got ${show(methods)}.`,
    )
  }
  if (typeof pace !== 'boolean') throw optionInvalid('pace', `pace must be true or false, got ${show(pace)}.`)
  const callbacks = { onWait: () => {}, now: Date.now, random: Math.random, wait }
  for (const field of ['onWait', 'now', 'random', 'wait'] as const) {
    const callback = options[field]
    if (callback === undefined) continue
    if (typeof callback !== 'function')
      throw optionInvalid(field, `${field} must be a function, got ${show(callback)}.`)
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
