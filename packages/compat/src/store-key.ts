import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { assertKey } from '@tidegate/core'

/**
 * Converts a key of the library to a valid key. The libraries accept any text, so invalid keys are replaced by their hash.
 * Keys that look like such a hash are hashed too, so that a client cannot choose the key of another client.
 */
export function storeKey(key: unknown): string {
  const text = typeof key === 'string' ? key : String(key)
  return isValid(text) && !text.startsWith(HASHED) ? text : `${HASHED}${hashOf(text)}`
}

const HASHED = 'sha256:'

function isValid(text: string): boolean {
  if (PRINTABLE_ASCII.test(text)) return true
  try {
    assertKey(text)
    return true
  } catch {
    return false
  }
}

const PRINTABLE_ASCII = /^[\x20-\x7e]{1,256}$/

/** Hashes the JSON of a text, because JSON escapes lone surrogates, which UTF-8 cannot distinguish. */
export function hashOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify(text))))
}
