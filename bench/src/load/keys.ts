import { randomFrom } from '@tidegate/core/testing'

/** `short`: 6 to 12 characters, such as `user:123456`. `long`: 32 characters. */
export type KeyShape = 'short' | 'long'

/**
 * Distinct keys, numbered from `from`. They are read from a buffer, like the keys of a server: V8 flattens a concatenated
 * string when it is first read, and the first check would pay for that.
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
 * Indexes of keys in random order, each key equally often: one shuffle of all keys after another. Every process gets the
 * same order, so that all contenders do the same work.
 */
export function makeOrder(keys: number, length: number): Int32Array {
  if (length % keys !== 0) throw new Error(`An order of ${length} does not hold ${keys} keys equally often.`)
  const order = new Int32Array(length)
  const { between } = randomFrom(1)
  for (let start = 0; start < length; start += keys) {
    for (let i = 0; i < keys; i++) {
      const j = between(0, i)
      order[start + i] = order[start + j]!
      order[start + j] = i
    }
  }
  return order
}
