/** Kinds of upstream failures: label values of a metric. */
export type FailureKind = 'connect' | 'timeout' | 'lost' | 'garbage' | 'overload'

export const FAILURE_KINDS: readonly FailureKind[] = ['connect', 'timeout', 'lost', 'garbage', 'overload']

export interface Failure {
  readonly kind: FailureKind
  readonly status: 502 | 503 | 504
  readonly message: string
}

const NOT_REACHED: Failure = {
  kind: 'connect',
  status: 502,
  message: 'The upstream is unreachable.',
}
const NOT_REACHED_IN_TIME: Failure = {
  kind: 'connect',
  status: 504,
  message: 'The connection to the upstream timed out.',
}
const NO_RESPONSE: Failure = {
  kind: 'timeout',
  status: 504,
  message: 'The upstream did not respond in time.',
}
const LOST: Failure = {
  kind: 'lost',
  status: 502,
  message: 'The upstream closed the connection before it responded.',
}
const INVALID_RESPONSE: Failure = {
  kind: 'garbage',
  status: 502,
  message: 'The upstream sent an invalid HTTP response.',
}
export const OVERLOAD: Failure = {
  kind: 'overload',
  status: 503,
  message: 'Too many requests are waiting for the upstream.',
}

/** Classifies an error of undici or of a socket. `isSent`: whether the request was sent on a connection. */
export function failureOf(error: Error, isSent: boolean): Failure {
  const { code = '' } = error as NodeJS.ErrnoException
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return NOT_REACHED_IN_TIME
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return NO_RESPONSE
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return INVALID_RESPONSE
    case 'UND_ERR_SOCKET':
      // undici's error for unexpected responses, such as an upgrade.
      return error.message.startsWith('bad ') ? INVALID_RESPONSE : LOST
  }
  if (!isSent) return NOT_REACHED
  // Errors of undici's parser, and of Node for a header that cannot be sent.
  return error.name === 'HTTPParserError' || code.startsWith('ERR_') ? INVALID_RESPONSE : LOST
}

/** No request was sent, so this does not count as a failure of the upstream. */
export const CIRCUIT_OPEN: Failure = {
  kind: 'overload',
  status: 503,
  message: 'The upstream has failed too often; its circuit breaker is open.',
}
