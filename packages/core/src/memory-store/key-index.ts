import { KeyHash } from './key-hash.js'
import type { Rows } from './rows.js'

/**
 * A hash table from a policy name and a key to a slot. It holds only hashes and slots; the names and keys are in the rows.
 *
 * The table is split into segments that grow one at a time, so that no single check has to copy a large table. The
 * segments are typed arrays, which the garbage collector does not scan.
 */
export class KeyIndex {
  /** Pairs of a hash and a slot, with linear probing. A slot of 0 marks a free place. */
  readonly #segments: Int32Array[] = new Array(SEGMENTS).fill(NO_PLACES)
  readonly #sizes = new Int32Array(SEGMENTS)
  readonly #hash = new KeyHash()
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** The key's slot, or 0. */
  find(name: string, key: string): number {
    const hash = this.#hash.of(name, key)
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!
    const mask = segment.length / 2 - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const slot = segment[2 * place + 1]!
      if (slot === 0 || (segment[2 * place] === hash && this.#rows.belongsTo(slot, name, key))) return slot
    }
  }

  /** Adds a key that is not in the table. */
  add(name: string, key: string, slot: number): void {
    const hash = this.#hash.of(name, key)
    const index = hash >>> SEGMENT_SHIFT
    const size = ++this.#sizes[index]!
    let segment = this.#segments[index]!
    // At most three quarters full.
    if (8 * size > 3 * segment.length) {
      segment = twiceAsLarge(segment)
      this.#segments[index] = segment
    }
    put(segment, hash, slot)
  }

  /** Removes a key that is in the table. */
  remove(name: string, key: string, slot: number): void {
    const hash = this.#hash.of(name, key)
    const index = hash >>> SEGMENT_SHIFT
    const segment = this.#segments[index]!
    const mask = segment.length / 2 - 1
    let hole = hash & mask
    while (segment[2 * hole + 1] !== slot) hole = (hole + 1) & mask
    // Close the gap: move later entries up, but none to a place before its home place, where its search starts.
    for (let i = (hole + 1) & mask; segment[2 * i + 1] !== 0; i = (i + 1) & mask) {
      const home = segment[2 * i]! & mask
      if (((i - home) & mask) < ((i - hole) & mask)) continue
      segment[2 * hole] = segment[2 * i]!
      segment[2 * hole + 1] = segment[2 * i + 1]!
      hole = i
    }
    segment[2 * hole + 1] = 0
    this.#sizes[index]!--
  }
}

const SEGMENT_BITS = 8
const SEGMENTS = 1 << SEGMENT_BITS
const SEGMENT_SHIFT = 32 - SEGMENT_BITS
/** The initial segment: one free place, which ends every search. */
const NO_PLACES = new Int32Array(2)

function twiceAsLarge(segment: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(16, 2 * segment.length))
  for (let i = 0; i < segment.length; i += 2) {
    if (segment[i + 1] !== 0) put(larger, segment[i]!, segment[i + 1]!)
  }
  return larger
}

function put(segment: Int32Array, hash: number, slot: number): void {
  const mask = segment.length / 2 - 1
  let place = hash & mask
  while (segment[2 * place + 1] !== 0) place = (place + 1) & mask
  segment[2 * place] = hash
  segment[2 * place + 1] = slot
}
