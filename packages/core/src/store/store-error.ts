import { ERROR_CODES, TidegateError } from '../errors.js'

/** Why a call failed: the `cause` of a `STORE_FAILED` error that the store itself did not report. */
export type FailureCause =
  /** The store was sent the call and did not answer within the deadline. */
  | 'timeout'
  /** The call could not be sent in time because this process has too much to do. */
  | 'overload'
  /** The circuit breaker is open: the call was not sent. */
  | 'breaker-open'
  /** The connection is down for a known reason: the call was not sent. */
  | 'unreachable'

export function storeFailed(cause: FailureCause, message: string): TidegateError {
  return new TidegateError('STORE_FAILED', message, { cause })
}

/** For calls after `close`: an error of the caller, which has no fallback. */
export function storeClosed(store = 'This store'): TidegateError {
  return new TidegateError('STORE_FAILED', `${store} is closed; create a new one.`, { cause: CLOSED })
}

const CLOSED = 'closed'

export function isFailureOf(error: unknown, cause: FailureCause): boolean {
  return (error as TidegateError | undefined)?.cause === cause && isStoreFailure(error)
}

/**
 * Whether the store failed, as opposed to invalid input or a closed store. An error of an unknown kind counts as a
 * failure too: a store that breaks the contract must not take its callers down.
 */
export function isStoreFailure(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as Partial<TidegateError>
  return code === 'STORE_FAILED' ? cause !== CLOSED : !INPUT_CODES.has(code)
}

const INPUT_CODES: ReadonlySet<unknown> = new Set(ERROR_CODES)
