import { show, TidegateError } from './errors.js'

/** The maximum length of a client key, in bytes of UTF-8. */
const MAX_KEY_BYTES = 256

/**
 * Throws `KEY_INVALID` for an invalid client key. A key is 1 to 256 bytes of well-formed Unicode without control
 * characters. The rule is the same for every store, so a key that works in memory also works in Redis, logs and headers.
 */
export function assertKey(key: unknown): asserts key is string {
  if (typeof key !== 'string') throw invalid(`must be a string such as "user:123", got ${show(key)}`)
  if (key.length === 0)
    throw invalid('is empty; identify the client, for example "user:123" or "ip:192.0.2.1"')
  let bytes = 0
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i)
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) {
      throw invalid(`has a control character (code ${unit}) at position ${i}; remove or encode it`)
    }
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3
    else {
      const next = unit < 0xdc00 ? key.charCodeAt(i + 1) : Number.NaN
      if (!(next >= 0xdc00 && next <= 0xdfff)) {
        throw invalid(`has a lone surrogate at position ${i}; pass well-formed Unicode`)
      }
      bytes += 4
      i++
    }
    if (bytes > MAX_KEY_BYTES) {
      throw invalid(
        `is longer than ${MAX_KEY_BYTES} bytes; hash it first, for example "sha256:" and the digest`,
      )
    }
  }
}

function invalid(what: string): TidegateError {
  return new TidegateError('KEY_INVALID', `The key ${what}.`, { field: 'key' })
}
