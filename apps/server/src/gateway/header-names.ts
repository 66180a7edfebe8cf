import { quoted } from '../config/mistakes.js'
import { text, unfit } from './argument.js'
import { isHopByHop } from './hop-by-hop.js'

/*
 * Which headers a filter may change. Those that belong to one hop, and those that say where a message ends and whom it
 * is for, are the gateway's own: with another value a message would be read differently at the two ends.
 */

const FRAMING = new Set(['content-length', 'expect', 'host'])

/** A name in lower case that a filter may change. */
export function headerName(value: unknown): string {
  const name = anyHeaderName(value)
  if (!isHopByHop(name) && !FRAMING.has(name)) return name
  const instead = name === 'host' ? '; use PreserveHostHeader to pass it on' : '; remove the filter'
  throw unfit(`${quoted(text(value))} is set by the gateway itself and cannot be changed${instead}`)
}

/** A name in lower case, to look at. */
export function anyHeaderName(value: unknown): string {
  const name = text(value)
  if (/^[\w!#$%&'*+.^`|~-]{1,256}$/.test(name)) return name.toLowerCase()
  throw unfit(`${quoted(name)} is no name of a header; write for example X-Request-Source`)
}

/** What may stand in a header: one line, characters of one byte. */
export function headerValue(value: unknown): string {
  const line = typeof value === 'string' ? value : text(value)
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(line)) return line.trim()
  throw unfit(`${quoted(line)} cannot stand in a header: it must be one line of Latin letters and signs`)
}

/** Whether servers that turn header names into variables, such as HTTP_X_USER_ID, take two names for one. */
export function isSameToCgi(name: string, other: string): boolean {
  return name.length === other.length && cgiName(name) === cgiName(other)
}

function cgiName(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '_')
}
