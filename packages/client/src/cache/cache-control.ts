/** The directives of `Cache-Control` by name, in lower case; the first of each counts. */
export type Directives = ReadonlyMap<string, string>

const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
/** One member of the list, which may be empty: `name`, `name=token` or `name="text"`. */
const MEMBER = new RegExp(
  `[ \\t]*(?:(${TOKEN})(?:=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN})))?[ \\t]*)?(?:,|$)`,
  'y',
)

/** Malformed headers count as `no-store`: the author of `no-store; max-age=60` does not want a cached response. */
export function directivesOf(headers: Headers): Directives {
  const text = headers.get('cache-control') ?? ''
  const directives = new Map<string, string>()
  MEMBER.lastIndex = 0
  for (let at = 0; at < text.length; at = MEMBER.lastIndex) {
    const match = MEMBER.exec(text)
    if (match === null) return new Map([['no-store', '']])
    const [, name, quotedValue, token] = match
    const key = name?.toLowerCase()
    if (key !== undefined && !directives.has(key)) directives.set(key, quotedValue ?? token ?? '')
  }
  return directives
}

/** The seconds of a directive, in milliseconds. Undefined without the directive; 0 if not a number (RFC 9111, 4.2.1). */
export function directiveMs(directives: Directives, name: string): number | undefined {
  const text = directives.get(name)
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) * 1000 : 0
}

/** 68 years, which caches treat as unlimited. */
const MAX_SECONDS = 2 ** 31
