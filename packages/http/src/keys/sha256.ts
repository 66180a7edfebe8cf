import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/* Not WebCrypto: it is asynchronous, and key templates resolve synchronously. */

/** Returns the SHA-256 of a text, as 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(bytesOf(text)))
}

/**
 * UTF-8 in which each lone surrogate has its own encoding. `TextEncoder` writes U+FFFD for all of them, so two clients
 * would share one hash.
 */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i)!
    if (code < 0x80) bytes[length++] = code
    else {
      if (code < 0x800) bytes[length++] = 0xc0 | (code >> 6)
      else {
        if (code < 0x10000) bytes[length++] = 0xe0 | (code >> 12)
        else {
          bytes[length++] = 0xf0 | (code >> 18)
          bytes[length++] = 0x80 | ((code >> 12) & 0x3f)
          i++
        }
        bytes[length++] = 0x80 | ((code >> 6) & 0x3f)
      }
      bytes[length++] = 0x80 | (code & 0x3f)
    }
  }
  return bytes.subarray(0, length)
}
