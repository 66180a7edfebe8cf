/*
 * One path has many spellings: `/login`, `/login/`, `//login`, `/%6cogin`, `/a/../login`. Rules match the canonical path,
 * and the gateway forwards it, so that the upstream interprets the same path. A target without a canonical form is
 * rejected.
 */

/** A request target with a canonical path. */
export interface CanonicalTarget {
  readonly path: string
  /** The query as it was sent, without the `?`. */
  readonly query: string
}

/**
 * Splits a request target, or the URL of a `Request`, and converts its path to the canonical form: escapes of letters,
 * digits and `-._~` are decoded, other escapes are in upper case, and characters that need an escape get one. `//` becomes
 * `/`, `.` and `..` are resolved, a trailing slash is removed. `http://host/path` becomes `/path`. Bytes above 127 are one
 * character each, as in `request.url` of Node.js.
 *
 * Returns undefined for targets that should be rejected with 400: targets without a path (`*`, `host:443`), malformed
 * escapes, control characters, `#`, slashes written as `\`, `%2F` or `%5C`, and `..` above the root or with parameters
 * (`..;`).
 */
export function canonicalPath(target: string): CanonicalTarget | undefined {
  const start = pathStart(target)
  if (start < 0) return undefined
  const mark = target.indexOf('?', start)
  const end = mark < 0 ? target.length : mark
  const query = mark < 0 ? '' : target.slice(mark + 1)
  if (query !== '' && !isQuery(query)) return undefined
  if (isCanonical(target, start, end)) return { path: target.slice(start, end), query }
  const path = resolvePath(target.slice(start, end))
  return path === undefined ? undefined : { path, query }
}

const [HASH, DOT, SLASH, BACKSLASH, DELETE] = [0x23, 0x2e, 0x2f, 0x5c, 0x7f]
const UNRESERVED = charactersOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~')
/** The characters of a path that need no escape. */
const UNESCAPED = charactersOf("!$&'()*+,;=:@", UNRESERVED)

/** The index at which the path begins; -1 for a target without a path. */
function pathStart(target: string): number {
  if (target.charCodeAt(0) === SLASH) return 0
  const origin = /^https?:\/\/[^/?#\\]+/i.exec(target)
  return origin === null ? -1 : origin[0].length
}

/** Nearly all paths are canonical, so this check comes before the slow parsing. */
function isCanonical(target: string, start: number, end: number): boolean {
  let previous = 0
  for (let at = start; at < end; at++) {
    const code = target.charCodeAt(at)
    if (code === SLASH ? previous === SLASH : UNESCAPED[code] !== 1) return false
    // Names such as .git take the slow path too, which is harmless.
    if (code === DOT && previous === SLASH) return false
    previous = code
  }
  return end - start === 1 || (end - start > 1 && previous !== SLASH)
}

function resolvePath(raw: string): string | undefined {
  const segments: string[] = []
  for (const rawSegment of raw.split('/')) {
    const segment = canonicalSegment(rawSegment)
    if (segment === undefined) return undefined
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return `/${segments.join('/')}`
}

function canonicalSegment(raw: string): string | undefined {
  let segment = ''
  for (let i = 0; i < raw.length; i++) {
    let code = raw.charCodeAt(i)
    if (UNESCAPED[code] === 1) {
      segment += raw[i]
      continue
    }
    const isEscape = code === 0x25
    if (isEscape) {
      const digits = raw.slice(i + 1, i + 3)
      if (!/^[\dA-Fa-f]{2}$/.test(digits)) return undefined
      code = Number.parseInt(digits, 16)
      i += 2
    } else if (code === HASH) return undefined
    if (code < 0x20 || code === DELETE || code === SLASH || code === BACKSLASH || code > 0xff)
      return undefined
    segment += UNRESERVED[code] === 1 ? String.fromCharCode(code) : escapeByte(code)
  }
  // Some servers remove the parameters first and then resolve the dots.
  return /^\.\.?(?:;|%3B)/.test(segment) ? undefined : segment
}

function escapeByte(byte: number): string {
  return `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`
}

/** Whether a query can be forwarded. Its meaning is up to the application. */
function isQuery(query: string): boolean {
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i)
    if (code < 0x20 || code === DELETE || code === HASH) return false
  }
  return true
}

function charactersOf(characters: string, others: Uint8Array = new Uint8Array(128)): Uint8Array {
  const table = others.slice()
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}
