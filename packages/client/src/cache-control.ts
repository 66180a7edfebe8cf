/** The directives of `Cache-Control` by name, in lower case; the first of each counts. */
export type Directives = ReadonlyMap<string, string>

const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
/** One member of the list, which may be empty: `name`, `name=token` or `name="text"`. */
const MEMBER = new RegExp(
  `[ \\t]*(?:(${TOKEN})(?:=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN})))?[ \\t]*)?(?:,|$)`,
  'y',
)

/**
 * What cannot be read is taken for `no-store`: whoever writes `no-store; max-age=60` did not mean to be kept
 * for a minute.
 */
export function directivesOf(headers: Headers): Directives {
  const text = headers.get('cache-control') ?? ''
  const directives = new Map<string, string>()
  MEMBER.lastIndex = 0
  for (let at = 0; at < text.length; at = MEMBER.lastIndex) {
    const found = MEMBER.exec(text)
    if (found === null) return new Map([['no-store', '']])
    const [, name, quoted, token] = found
    const key = name?.toLowerCase()
    if (key !== undefined && !directives.has(key)) directives.set(key, quoted ?? token ?? '')
  }
  return directives
}

/**
 * A directive's seconds, in milliseconds. Undefined if it is not there; 0 if it is no number, because what
 * cannot be read is better taken for stale (RFC 9111, 4.2.1).
 */
export function secondsOf(directives: Directives, name: string): number | undefined {
  const text = directives.get(name)
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) * 1000 : 0
}

/** 68 years: "for ever" to every cache. */
const MAX_SECONDS = 2 ** 31
