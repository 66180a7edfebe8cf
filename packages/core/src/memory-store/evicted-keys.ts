import type { Policy } from '../policy/index.js'
import { KeyHash } from './key-hash.js'

/**
 * Remembers until when evicted keys must stay denied, in a fixed amount of memory.
 *
 * A Bloom filter whose cells hold times. Each key has four cells, and is denied until the earliest time in them. Adding a
 * key only raises times, so keys of policies with the same or a shorter window never release a denied key early. If other
 * keys raised all four cells, a key is denied by mistake, or released if their windows are longer. That is rare while there
 * are at most as many evicted denied keys as the store has room for.
 */
export class EvictedKeys {
  /** Times in microseconds, by cell. Allocated when the first key is added. */
  #ends: Float64Array | undefined
  readonly #size: number
  readonly #hash = new KeyHash()
  readonly #stepHash = new KeyHash()

  constructor(maxKeys: number) {
    let size = MIN_CELLS
    while (size < CELLS_PER_KEY * maxKeys && size < MAX_CELLS) size *= 2
    this.#size = size
  }

  /** Adds a key until `end`, capped at the longest lifetime of a state without debt. */
  add(policy: Policy, key: string, end: number, now: number): void {
    this.#ends ??= new Float64Array(this.#size)
    const latest = Math.min(end, now + longestLifetime(policy))
    for (const cell of this.#cellsOf(policy.name, key)) this.#ends[cell] = Math.max(this.#ends[cell]!, latest)
  }

  /** Until when a key is denied; 0 if it is not. */
  endOf(policy: Policy, key: string, now: number): number {
    const ends = this.#ends
    if (ends === undefined) return 0
    const end = Math.min(...this.#cellsOf(policy.name, key).map((cell) => ends[cell]!))
    // An end beyond the longest lifetime was set by other policies, or under another clock.
    return end > now && end - now <= longestLifetime(policy) ? end : 0
  }

  /** Releases a key, and any keys that share its first cell. */
  remove(name: string, key: string): void {
    if (this.#ends !== undefined) this.#ends[this.#cellsOf(name, key)[0]!] = 0
  }

  #cellsOf(name: string, key: string): number[] {
    const first = this.#hash.of(name, key)
    const step = this.#stepHash.of(name, key) | 1
    return [0, 1, 2, 3].map((i) => (first + i * step) & (this.#size - 1))
  }
}

/**
 * The longest lifetime of a state without debt: two windows for a counter, plus one if the clock stepped back.
 */
function longestLifetime(policy: Policy): number {
  if (policy.algorithm === 'concurrency') return policy.ttlUs
  return 3 * ('windowUs' in policy ? policy.windowUs : policy.spanUs + 1)
}

const CELLS_PER_KEY = 8
const MIN_CELLS = 2 ** 18
const MAX_CELLS = 2 ** 26
