import { createHash } from 'node:crypto'
import type { DescriptorEntry } from '../limits/match.js'

/** Characters that a key cannot have, or that separate its parts. Also surrogates, which a key may only have in pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const SPECIAL = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff|=\\]/
const MAX_BYTES = 256
/** The most bytes that a character outside the surrogates takes in UTF-8. */
const BYTES_PER_CHARACTER = 3

/** The key of a counter: `user=bob|path=/login`. Two different lists of entries never share a key. */
export function countKey(entries: readonly DescriptorEntry[], prefix = ''): string {
  let key = prefix
  let isSpecial = SPECIAL.test(prefix)
  for (const { key: name, value } of entries) {
    key += key === '' ? `${name}=${value}` : `|${name}=${value}`
    isSpecial ||= SPECIAL.test(name) || SPECIAL.test(value)
  }
  if (!isSpecial && key !== '' && fits(key)) return key
  const parts = [prefix, ...entries.flatMap(({ key, value }) => [key, value])]
  return `sha256:${createHash('sha256').update(JSON.stringify(parts)).digest('hex')}`
}

function fits(key: string): boolean {
  if (key.length * BYTES_PER_CHARACTER <= MAX_BYTES) return true
  return key.length <= MAX_BYTES && Buffer.byteLength(key) <= MAX_BYTES
}
