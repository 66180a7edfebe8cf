/*
 * Headers that apply to one hop only (RFC 9110, 7.6.1). They are removed before the gateway adds its own headers, so that
 * `Connection: X-Forwarded-For` cannot remove those.
 */

/** Hop-by-hop headers of requests and responses. Callers keep `te: trailers`. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** One bit for each length of a hop-by-hop name, so that most names need no lookup. */
const LENGTHS = [...HOP_BY_HOP].reduce((bits, { length }) => bits | (1 << length), 0)

/** Whether a header is hop-by-hop. `name` is in lower case. */
export function isHopByHop(name: string): boolean {
  return name.length < 32 && (LENGTHS & (1 << name.length)) !== 0 && HOP_BY_HOP.has(name)
}

/** The other headers that a `Connection` header names, in lower case; undefined if it names none. */
export function headersNamedByConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || isConnectionOption(connection)) return undefined
  let names: Set<string> | undefined
  for (const token of connection.toLowerCase().split(',')) {
    const name = token.trim()
    if (name === '' || isConnectionOption(name) || NEVER_DROPPED.has(name)) continue
    names ??= new Set()
    names.add(name)
  }
  return names
}

/** Common values of `Connection` that do not name a header. */
function isConnectionOption(token: string): boolean {
  return token === 'keep-alive' || token === 'close' || token === 'Keep-Alive' || token === 'upgrade'
}

/** Headers that are forwarded even if `Connection` names them. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(['host', 'content-length'])

/** Whether the client accepts trailers, the only part of `TE` that is forwarded. */
export function takesTrailers(te: string | undefined): boolean {
  return te?.split(',').some((coding) => coding.trim().toLowerCase() === 'trailers') === true
}
