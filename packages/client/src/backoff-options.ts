import { assertOptions, show, TidegateError } from '@tidegate/core'
import { MAX_TIMER_MS, numberOption } from './option-number.js'
import { type Wait, wait } from './wait.js'

export interface BackoffOptions {
  /** The most times that a request is sent. Default: 5. */
  maxAttempts?: number
  /** A random wait of up to this is added to the first wait, twice as much to the second, … Default: 1000. */
  firstBackoffMs?: number
  /** The most that the random part of a wait grows to. Default: 30,000. */
  maxBackoffMs?: number
  /** A server that asks for a longer wait than this has its answer handed on. Default: 60,000. */
  maxRetryAfterMs?: number
  /** The most that all waits of one call may come to. Default: 300,000. */
  maxTotalWaitMs?: number
  /** Answers after which a request is repeated. Default: 429, 502, 503 and 504. */
  statuses?: readonly number[]
  /** What may be repeated without an `Idempotency-Key`. Default: GET, HEAD, OPTIONS, PUT and DELETE. */
  methods?: readonly string[]
  /** Whether to slow down before the server refuses, by what its headers say is left. Default: false. */
  pace?: boolean
  /** Called before each wait. Default: nothing. */
  onWait?: (wait: BackoffWait) => void
  /** Milliseconds since the epoch. Default: `Date.now`. */
  now?: () => number
  /** From 0 to below 1. Default: `Math.random`. */
  random?: () => number
  /** Resolves after so many milliseconds, or rejects when the signal aborts. Default: a timer. */
  wait?: Wait
}

/** Why, and how long, a call waits. */
export interface BackoffWait {
  /** An answer's status, a request that got no answer, or only to keep the pace. */
  readonly reason: 'status' | 'no-answer' | 'pace'
  readonly waitMs: number
  /** What the server has asked for, in `Retry-After` or as the reset of what is used up. */
  readonly askedForMs?: number
  /** How often the request has been sent so far. */
  readonly attempts: number
  readonly method: string
  readonly url: string
  readonly status?: number
  readonly error?: unknown
}

export type BackoffSettings = Readonly<Required<BackoffOptions>>

/** Idempotent by RFC 9110, 9.2.2: sending them twice is meant to be the same as once. */
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
const TEMPORARY = [429, 502, 503, 504]

const KNOWN = [
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
  assertOptions('withBackoff()', options, KNOWN)
  const { statuses = TEMPORARY, methods = IDEMPOTENT, pace = false } = options
  const ms = (field: keyof BackoffOptions, otherwise: number) =>
    numberOption(field, options[field], { from: 0, to: MAX_TIMER_MS, otherwise })
  if (
    !Array.isArray(statuses) ||
    !statuses.every((one) => Number.isInteger(one) && one >= 400 && one < 600)
  ) {
    throw invalid('statuses', `a list of statuses from 400 to 599, such as [429, 503], got ${show(statuses)}`)
  }
  if (
    !Array.isArray(methods) ||
    !methods.every((one) => typeof one === 'string' && one === one.toUpperCase())
  ) {
    throw invalid('methods', `a list of methods in upper case, such as ['GET', 'PUT'], got ${show(methods)}`)
  }
  if (typeof pace !== 'boolean') throw invalid('pace', `true or false, got ${show(pace)}`)
  const callbacks = { onWait: () => {}, now: Date.now, random: Math.random, wait }
  for (const field of ['onWait', 'now', 'random', 'wait'] as const) {
    const given = options[field]
    if (given === undefined) continue
    if (typeof given !== 'function') throw invalid(field, `a function, got ${show(given)}`)
    Object.assign(callbacks, { [field]: given })
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

function invalid(field: string, what: string): TidegateError {
  return new TidegateError('OPTION_INVALID', `${field} must be ${what}.`, { field })
}
