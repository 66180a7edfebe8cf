import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Ids that are safe in headers and logs. */
const SAFE_ID = /^[\w.:+/=@-]{1,128}$/

/** Returns the id of a request: the client's X-Request-Id if it is safe, or else a unique one. */
export function requestIds(): (request: IncomingMessage) => string {
  const process = randomBytes(6).toString('base64url')
  let count = 0
  return ({ headers }) => {
    const id = headers['x-request-id']
    if (typeof id === 'string' && SAFE_ID.test(id)) return id
    count++
    return `${process}-${count}`
  }
}
