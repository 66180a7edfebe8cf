import type { KeyShape } from './core-scenarios.js'

/**
 * Distinct keys, numbered from `from` on. They come out of a buffer, as a server's keys come out of a socket: text joined in
 * JavaScript is a tree of pieces until somebody reads it, and its first reader would pay for that.
 */
export function makeKeys(count: number, shape: KeyShape = 'short', from = 0): string[] {
  const keys = new Array<string>(count)
  for (let i = 0; i < count; i++) {
    const number = String(from + i)
    const text = shape === 'short' ? `user:${number}` : `session:${number.padStart(24, '0')}`
    keys[i] = Buffer.from(text).toString('latin1')
  }
  return keys
}

/**
 * Indexes of keys in random order, each key equally often: one shuffle of all keys after another. The
 * order is the same in every process, so that all contenders do the same work.
 */
export function makeOrder(keys: number, length: number): Int32Array {
  if (length % keys !== 0) throw new Error(`An order of ${length} does not hold ${keys} keys equally often.`)
  const order = new Int32Array(length)
  const random = randomIntegers(1)
  for (let start = 0; start < length; start += keys) {
    for (let i = 0; i < keys; i++) {
      const j = random(i + 1)
      order[start + i] = order[start + j]!
      order[start + j] = i
    }
  }
  return order
}

/** Marsaglia's xorshift. Math.random() takes no seed. */
function randomIntegers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
