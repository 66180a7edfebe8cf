/*
 * Headers that are between two neighbours and nobody else (RFC 9110, 7.6.1). They are taken away before anything of ours
 * is added: `Connection: X-Forwarded-For` must not be a way to be rid of what we say.
 */

/** Always so, on requests and on responses. `te` may stay as `trailers`, which the caller sees to. */
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

/** One bit for each length that such a name has: most names need not be looked up. */
const LENGTHS = [...HOP_BY_HOP].reduce((bits, { length }) => bits | (1 << length), 0)

/** `name` in lower case. */
export function isHopByHop(name: string): boolean {
  return name.length < 32 && (LENGTHS & (1 << name.length)) !== 0 && HOP_BY_HOP.has(name)
}

/** The other headers that a `Connection` header names, in lower case; undefined if it names none. */
export function namedByConnection(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || isPlain(connection)) return undefined
  let names: Set<string> | undefined
  for (const token of connection.toLowerCase().split(',')) {
    const name = token.trim()
    if (name === '' || isPlain(name) || NEVER_DROPPED.has(name)) continue
    names ??= new Set()
    names.add(name)
  }
  return names
}

/** What connections say every day, and what names no header. */
function isPlain(token: string): boolean {
  return token === 'keep-alive' || token === 'close' || token === 'Keep-Alive' || token === 'upgrade'
}

/** Where a request goes and where it ends is no matter of one hop, whatever it says. */
const NEVER_DROPPED: ReadonlySet<string> = new Set(['host', 'content-length'])

/** Whether a client can read trailers: that alone of `TE` is passed on. */
export function takesTrailers(te: string | undefined): boolean {
  return te?.split(',').some((coding) => coding.trim().toLowerCase() === 'trailers') === true
}
