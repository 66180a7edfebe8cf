/*
 * What can go wrong between us and an upstream, in few words: they are a label of a metric.
 */

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
  message: 'The upstream cannot be reached.',
}
const NOT_REACHED_IN_TIME: Failure = {
  kind: 'connect',
  status: 504,
  message: 'The upstream could not be reached in time.',
}
const SILENT: Failure = { kind: 'timeout', status: 504, message: 'The upstream did not answer in time.' }
const LOST: Failure = {
  kind: 'lost',
  status: 502,
  message: 'The upstream closed the connection before it had answered.',
}
const GARBAGE: Failure = {
  kind: 'garbage',
  status: 502,
  message: 'The upstream answered something that is no proper HTTP.',
}
export const OVERLOAD: Failure = {
  kind: 'overload',
  status: 503,
  message: 'The upstream has more requests to answer than it is given.',
}

/** What an error of undici or of a socket means. `isSent`: whether a connection was there, and the request on it. */
export function failureOf(error: Error, isSent: boolean): Failure {
  const { code = '' } = error as NodeJS.ErrnoException
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return NOT_REACHED_IN_TIME
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return SILENT
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return GARBAGE
    case 'UND_ERR_SOCKET':
      // undici says so of answers that nobody has asked for, such as an upgrade.
      return error.message.startsWith('bad ') ? GARBAGE : LOST
  }
  if (!isSent) return NOT_REACHED
  // undici's parser, and Node where a header cannot be passed on.
  return error.name === 'HTTPParserError' || code.startsWith('ERR_') ? GARBAGE : LOST
}
