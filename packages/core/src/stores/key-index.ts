/**
 * A hash table from keys to numbers above 0, whose growth never stops the process: it is many small tables,
 * its segments, and each grows by itself. They are typed arrays, so that a million keys are nothing to walk
 * for the garbage collector. It does not hold the keys; `keyOf` tells the key of a number.
 */
export class KeyIndex {
  /** Pairs of a hash and a number, probed in a line; a number of 0 is a free place. */
  readonly #segments: Int32Array[] = new Array(SEGMENTS).fill(EMPTY)
  readonly #sizes = new Int32Array(SEGMENTS)
  /** Secret, so that nobody can choose keys that fall together. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 0
  readonly #keyOf: (number: number) => string

  constructor(keyOf: (number: number) => string) {
    this.#keyOf = keyOf
  }

  /** The key's number, or 0. */
  get(key: string): number {
    // Whoever asks for something that is no text hears from elsewhere that it is no key.
    if (typeof key !== 'string') return 0
    const hash = this.#hash(key)
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!
    const mask = segment.length / 2 - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = segment[2 * place + 1]!
      if (number === 0 || (segment[2 * place] === hash && this.#keyOf(number) === key)) return number
    }
  }

  /** Adds a key that is not there. */
  add(key: string, number: number): void {
    const hash = this.#hash(key)
    const which = hash >>> SEGMENT_SHIFT
    const size = ++this.#sizes[which]!
    let segment = this.#segments[which]!
    // At most three quarters full.
    if (8 * size > 3 * segment.length) {
      const larger = new Int32Array(Math.max(16, 2 * segment.length))
      for (let i = 0; i < segment.length; i += 2) {
        if (segment[i + 1] !== 0) put(larger, segment[i]!, segment[i + 1]!)
      }
      segment = larger
      this.#segments[which] = larger
    }
    put(segment, hash, number)
  }

  /** Removes a key that is there. */
  delete(key: string, number: number): void {
    const hash = this.#hash(key)
    const which = hash >>> SEGMENT_SHIFT
    const segment = this.#segments[which]!
    const mask = segment.length / 2 - 1
    let hole = hash & mask
    while (segment[2 * hole + 1] !== number) hole = (hole + 1) & mask
    // Close the gap: what follows moves up, unless that would put it before where its search begins.
    for (let i = (hole + 1) & mask; segment[2 * i + 1] !== 0; i = (i + 1) & mask) {
      const home = segment[2 * i]! & mask
      if (((i - home) & mask) < ((i - hole) & mask)) continue
      segment[2 * hole] = segment[2 * i]!
      segment[2 * hole + 1] = segment[2 * i + 1]!
      hole = i
    }
    segment[2 * hole + 1] = 0
    this.#sizes[which]!--
  }

  #hash(key: string): number {
    let hash = this.#seed
    for (let i = 0; i < key.length; i++) {
      hash = Math.imul(((hash << 5) | (hash >>> 27)) ^ key.charCodeAt(i), 0x9e3779b1)
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    return hash ^ (hash >>> 13)
  }
}

const SEGMENTS = 1024
const SEGMENT_SHIFT = 22
const EMPTY = new Int32Array(2)

function put(segment: Int32Array, hash: number, number: number): void {
  const mask = segment.length / 2 - 1
  let place = hash & mask
  while (segment[2 * place + 1] !== 0) place = (place + 1) & mask
  segment[2 * place] = hash
  segment[2 * place + 1] = number
}
