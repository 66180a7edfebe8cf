/*
 * `Forwarded`, RFC 7239: `for=192.0.2.43, for="[2001:db8::17]:4711";proto=https`.
 *
 * It is taken apart from the right. A client that sends an opening quote and no closing one would otherwise
 * swallow what the proxies wrote after it, and be counted as the proxy. What the proxies wrote is well
 * formed, and in well-formed text the quotes can be matched from either side.
 */

/** Where the element that ends at `end` begins: after the last comma that is not in quotes. */
export function lastElement(list: string, end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    const character = list[at]
    if (character === ',') return at + 1
    if (character === '"') at = openingQuote(list, at)
  }
  return 0
}

/**
 * The value of `for` in one element. Undefined if there is none, several, or the element is no such thing.
 */
export function forwardedFor(element: string): string | undefined {
  if (element.length > MAX_ELEMENT) return undefined
  let found: string | undefined
  let at = 0
  while (at <= element.length) {
    PAIR.lastIndex = at
    const match = PAIR.exec(element)
    if (match === null) return undefined
    const [pair, name, quoted, plain] = match
    if (name?.toLowerCase() === 'for') {
      if (found !== undefined) return undefined
      found = quoted === undefined ? plain : quoted.replace(/\\(.)/g, '$1')
    }
    // Past the semicolon.
    at += pair.length + 1
  }
  // A port may be hidden behind a name: 192.0.2.43:_p80.
  return found?.replace(/:_[\w.-]+$/, '')
}

/** Far above what a proxy writes. */
const MAX_ELEMENT = 4096

/**
 * A pair, or nothing, up to the semicolon or the end. Values without quotes may have what IPv6 needs, as many
 * do.
 */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"\\;,]*))[ \t]*)?(?=;|$)/y

/** Where the quoted text that ends here begins; -1 if nowhere. */
function openingQuote(text: string, closing: number): number {
  for (let at = closing - 1; at >= 0; at--) {
    if (text[at] !== '"') continue
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
    at -= backslashes
  }
  return -1
}
