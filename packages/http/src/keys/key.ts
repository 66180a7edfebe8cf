import { sha256Hex } from './sha256.js'

/** The maximum length of a key in bytes of UTF-8, as in `assertKey` of @tidegate/core. */
const MAX_KEY_BYTES = 256

/**
 * Converts any text to a valid key: the text itself, or `sha256:` and its hash. Different texts have different keys. A text
 * that looks like such a hash is hashed too, so that a client cannot choose the key of another client.
 */
export function asKey(text: string): string {
  return isKey(text) && !isHashedKey(text) ? text : `sha256:${sha256Hex(text)}`
}

/** Whether a key is the hash of a text that is not a valid key. */
export function isHashedKey(key: string): boolean {
  return HASHED.test(key)
}

const HASHED = /^sha256:[\da-f]{64}$/

function isKey(text: string): boolean {
  const { length } = text
  if (length === 0 || length > MAX_KEY_BYTES) return false
  let bytes = length
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return false
    if (unit < 0x80) continue
    if (unit < 0x800) bytes += 1
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 2
    else {
      const next = unit < 0xdc00 ? text.charCodeAt(i + 1) : Number.NaN
      if (!(next >= 0xdc00 && next <= 0xdfff)) return false
      // A surrogate pair is four bytes.
      bytes += 2
      i++
    }
  }
  return bytes <= MAX_KEY_BYTES
}
