import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** What can be written in a header and a log, and is no novel. */
const SANE = /^[\w.:+/=@-]{1,128}$/

/** Names requests: as whoever sent them does, or else by a number that no other process gives. */
export function requestIds(): (request: IncomingMessage) => string {
  const process = randomBytes(6).toString('base64url')
  let count = 0
  return ({ headers }) => {
    const given = headers['x-request-id']
    if (typeof given === 'string' && SANE.test(given)) return given
    count++
    return `${process}-${count}`
  }
}
