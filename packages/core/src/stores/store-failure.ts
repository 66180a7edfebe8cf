import { ERROR_CODES, TidegateError } from '../errors.js'

/** Why a call failed though the store has said nothing: it is the `cause` of the error. */
export type FailureCause =
  /** The deadline has passed. */
  | 'timeout'
  /** The same, but this process was too busy to look for the answer in time. */
  | 'timeout-of-busy-process'
  /** The breaker is open: the store was not asked. */
  | 'breaker-open'
  /** Too many calls are in flight: the store was not asked. */
  | 'too-many-in-flight'

/** A failure that a wrapper found, not the store itself. */
export function storeFailed(cause: FailureCause, message: string): TidegateError {
  return new TidegateError('STORE_FAILED', message, { cause })
}

export function isFailureOf(error: unknown, cause: FailureCause): boolean {
  return (error as TidegateError | undefined)?.cause === cause && isStoreFailure(error)
}

/**
 * Whether it is the store that failed, and not the input that was wrong. What is no error of ours counts as a
 * failure too: a store that breaks the contract must not take its callers down.
 */
export function isStoreFailure(error: unknown): boolean {
  return !INPUT_CODES.has((error as TidegateError | undefined)?.code)
}

const INPUT_CODES: ReadonlySet<unknown> = new Set(ERROR_CODES.filter((code) => code !== 'STORE_FAILED'))
