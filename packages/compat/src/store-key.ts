import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { assertKey } from '@tidegate/core'

/**
 * The key under which a store counts a client. The libraries accept any text as a key, so one that is not valid here is
 * replaced by its hash. Keys that look like such a hash are hashed too: no client can pose as another.
 */
export function storeKey(key: unknown): string {
  const text = typeof key === 'string' ? key : String(key)
  return isValid(text) && !text.startsWith(HASHED) ? text : `${HASHED}${hashOf(text)}`
}

const HASHED = 'sha256:'

function isValid(text: string): boolean {
  if (PLAIN_ASCII.test(text)) return true
  try {
    assertKey(text)
    return true
  } catch {
    return false
  }
}

const PLAIN_ASCII = /^[\x20-\x7e]{1,256}$/

/** JSON escapes lone surrogates, which UTF-8 would all encode alike. */
export function hashOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify(text))))
}
