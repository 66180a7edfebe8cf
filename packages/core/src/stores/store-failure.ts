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

/** For what is called after `close`: that was somebody's wish, and is no failure that a wrapper should answer for. */
export function storeClosed(what = 'This store'): TidegateError {
  return new TidegateError('STORE_FAILED', `${what} is closed; make a new one.`, { cause: CLOSED })
}

const CLOSED = 'closed'

export function isFailureOf(error: unknown, cause: FailureCause): boolean {
  return (error as TidegateError | undefined)?.cause === cause && isStoreFailure(error)
}

/**
 * Whether it is the store that failed, and not the input that was wrong, or a store that was closed. What is no error
 * of ours counts as a failure too: a store that breaks the contract must not take its callers down.
 */
export function isStoreFailure(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as Partial<TidegateError>
  return code === 'STORE_FAILED' ? cause !== CLOSED : !INPUT_CODES.has(code)
}

const INPUT_CODES: ReadonlySet<unknown> = new Set(ERROR_CODES)
