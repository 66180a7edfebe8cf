/*
 * `Forwarded`, RFC 7239: `for=192.0.2.43, for="[2001:db8::17]:4711";proto=https`.
 *
 * The header is parsed from the right. Otherwise a client could send an opening quote without a closing one and hide the
 * entries of the proxies after it. The entries of the proxies are well formed, so their quotes match from either side.
 */

/** The start of the element that ends at `end`: after the last comma that is not in quotes. */
export function lastElement(list: string, end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    const character = list[at]
    if (character === ',') return at + 1
    if (character === '"') at = openingQuote(list, at)
  }
  return 0
}

/** The value of `for` in one element. Undefined if it has none or several, or if the element is malformed. */
export function forwardedFor(element: string): string | undefined {
  if (element.length > MAX_ELEMENT) return undefined
  let found: string | undefined
  let at = 0
  while (at <= element.length) {
    PAIR.lastIndex = at
    const match = PAIR.exec(element)
    if (match === null) return undefined
    const [pair, name, quotedValue, token] = match
    if (name?.toLowerCase() === 'for') {
      if (found !== undefined) return undefined
      found = quotedValue === undefined ? token : quotedValue.replace(/\\(.)/g, '$1')
    }
    // Skip the semicolon.
    at += pair.length + 1
  }
  // A port may be obfuscated: 192.0.2.43:_p80.
  return found?.replace(/:_[\w.-]+$/, '')
}

/** Longer than any element of a proxy. */
const MAX_ELEMENT = 4096

/** An optional pair up to the semicolon or the end. Unquoted values may contain IPv6 characters, because many proxies send them. */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"\\;,]*))[ \t]*)?(?=;|$)/y

/** The index of the quote that opens the quoted text which ends here; -1 if there is none. */
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
