import { quote } from '../../config-file/config-error.js'
import { isHopByHop } from '../request/hop-by-hop.js'
import { invalid, text } from './argument.js'

/*
 * The headers that a filter may change. The gateway sets the hop-by-hop headers, the framing and the host itself: with other
 * values, gateway and upstream could disagree about the end of a message.
 */

const FRAMING = new Set(['content-length', 'expect', 'host'])

/** Reads the name of a header that a filter may change, in lower case. */
export function headerName(value: unknown): string {
  const name = anyHeaderName(value)
  if (!isHopByHop(name) && !FRAMING.has(name)) return name
  const advice =
    name === 'host' ? '; use PreserveHostHeader to forward the host of the client' : '; remove the filter'
  throw invalid(`${quote(text(value))} is set by the gateway itself and cannot be changed${advice}`)
}

/** Reads any header name, in lower case. */
export function anyHeaderName(value: unknown): string {
  const name = text(value)
  if (/^[\w!#$%&'*+.^`|~-]{1,256}$/.test(name)) return name.toLowerCase()
  throw invalid(`${quote(name)} is not a valid header name; write for example X-Request-Source`)
}

/** Reads a header value: one line of Latin-1 characters. */
export function headerValue(value: unknown): string {
  const line = typeof value === 'string' ? value : text(value)
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(line)) return line.trim()
  throw invalid(`${quote(line)} is not a valid header value; write one line of Latin-1 characters`)
}
