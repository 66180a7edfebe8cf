import { ERROR_CODES, TidegateError } from '../errors.js'

/** Why a call failed: the `cause` of a `STORE_FAILED` error that was not reported by the store itself. */
export type FailureCause =
  /** The call was sent, but the store did not respond within the deadline. */
  | 'timeout'
  /** The call could not be sent in time, because this process is overloaded. */
  | 'overload'
  /** The circuit breaker is open: the call was not sent. */
  | 'breaker-open'
  /** The connection is down for a known reason: the call was not sent. */
  | 'unreachable'

/** Creates a `STORE_FAILED` error, for which a limiter uses its fallback. */
export function storeFailed(cause: FailureCause, message: string): TidegateError {
  return new TidegateError('STORE_FAILED', message, { cause })
}

/** Creates the error for calls after `close`: an error of the caller, without a fallback. */
export function storeClosed(store = 'This store'): TidegateError {
  return new TidegateError('STORE_FAILED', `${store} is closed; create a new one.`, { cause: CLOSED })
}

const CLOSED = 'closed'

export function isFailureOf(error: unknown, cause: FailureCause): boolean {
  return (error as TidegateError | undefined)?.cause === cause && isStoreFailure(error)
}

/** Whether the error is one of `storeClosed`. */
export function isClosed(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as Partial<TidegateError>
  return code === 'STORE_FAILED' && cause === CLOSED
}

/**
 * Whether the store failed, as opposed to invalid input or a closed store. Unknown errors count as failures too, so that a
 * faulty store does not break its callers.
 */
export function isStoreFailure(error: unknown): boolean {
  const { code } = (error ?? {}) as Partial<TidegateError>
  return code === 'STORE_FAILED' ? !isClosed(error) : !INPUT_CODES.has(code)
}

const INPUT_CODES: ReadonlySet<unknown> = new Set(ERROR_CODES)
