/*
 * One path, many spellings: `/login`, `/login/`, `//login`, `/%6cogin`, `/a/../login`. Rules are matched on
 * the canonical one, and whoever forwards a request forwards that one, so that nobody behind us can see
 * another path than the one that was limited. What has no canonical form is refused and not guessed at.
 */

export interface CanonicalTarget {
  readonly path: string
  /** As it was sent, without the `?`. */
  readonly query: string
}

/**
 * The target of a request line (or a `Request`'s URL), split and made canonical: escapes of letters, digits
 * and `-._~` are decoded and the others written in upper case, what must be escaped is, `//` is `/`, `.` and
 * `..` are resolved, and a slash at the end is dropped. `http://host/path` is `/path`. Bytes above 127 may
 * stand for themselves, one character each, as in Node's `request.url`.
 *
 * Undefined, which callers answer with 400: no path at all (`*`, `host:443`), broken escapes, control
 * characters and `#`, slashes that are written `\`, `%2F` or `%5C`, and `..` above the root or with
 * parameters (`..;`).
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
/** What stands in a path as it is: those, and what has no meaning of its own there. */
const PLAIN = charactersOf("!$&'()*+,;=:@", UNRESERVED)

/** Where the path begins in the two forms that have one; -1 in the others. */
function pathStart(target: string): number {
  if (target.charCodeAt(0) === SLASH) return 0
  const origin = /^https?:\/\/[^/?#\\]+/i.exec(target)
  return origin === null ? -1 : origin[0].length
}

/** Nearly all paths are canonical: it is worth a look before anything is taken apart. */
function isCanonical(target: string, start: number, end: number): boolean {
  let previous = 0
  for (let at = start; at < end; at++) {
    const code = target.charCodeAt(at)
    if (code === SLASH ? previous === SLASH : PLAIN[code] !== 1) return false
    // Names such as .git are taken apart too, though they need not be.
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
    if (PLAIN[code] === 1) {
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
    segment += UNRESERVED[code] === 1 ? String.fromCharCode(code) : escaped(code)
  }
  // Some servers cut off the parameters first and then see the dots.
  return /^\.\.?(?:;|%3B)/.test(segment) ? undefined : segment
}

function escaped(byte: number): string {
  return `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`
}

/** The query is nobody's business but the application's, as long as it can be passed on. */
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
