import {
  fixedWindow,
  type OnStoreFailure,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
} from '@tidegate/core'
import { hashOf } from './store-key.js'

/** The numbers of a limit, from the library's options. */
export interface PolicyNumbers {
  limit: number
  windowMs: number
  name?: string | undefined
  onStoreFailure?: OnStoreFailure | undefined
  blockForMs?: number | undefined
}

/** A limit that is never reached, so that a store counts every hit. */
export const COUNT_ALL = 10 ** 15 - 1
const MAX_LOG_LIMIT = 100_000
const MAX_ROLLING_LIMIT = 1_000_000_000
export const MAX_DURATION_MS = 366 * 86_400_000

/** A window that begins with the client's first request. */
export function windowPolicy(numbers: PolicyNumbers): Policy {
  return fixedWindow({ ...optionsOf(numbers), start: 'first-request' })
}

/** A sliding window: an exact log, or a counter for limits that are too large for a log. */
export function rollingPolicy(numbers: PolicyNumbers): Policy {
  const options = optionsOf({ ...numbers, limit: Math.min(numbers.limit, MAX_ROLLING_LIMIT) })
  return isLogLimit(numbers.limit) ? slidingWindowLog(options) : slidingWindowCounter(options)
}

/** Whether a rolling window of this limit is a log. */
export function isLogLimit(limit: number): boolean {
  return Math.floor(limit) <= MAX_LOG_LIMIT
}

function optionsOf({ limit, windowMs, name, onStoreFailure, blockForMs }: PolicyNumbers) {
  return {
    limit,
    window: durationOf(windowMs),
    ...(name === undefined ? {} : { name }),
    ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
    ...(blockForMs === undefined ? {} : { blockFor: durationOf(blockForMs) }),
  }
}

/** Clamps a duration to 1 ms to 366 d, because the libraries accept any number. */
function durationOf(ms: number): `${number}ms` {
  return `${Math.min(Math.max(1, Math.ceil(ms)), MAX_DURATION_MS)}ms`
}

/** Joins the parts to a policy name, hashed if it would be invalid. */
export function policyName(...parts: (string | number)[]): string {
  const name = parts.join('-')
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name) ? name : `compat-${hashOf(name).slice(0, 32)}`
}

/** Whether a policy can have this limit. */
export function isPolicyLimit(limit: unknown): limit is number {
  return Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= COUNT_ALL
}
