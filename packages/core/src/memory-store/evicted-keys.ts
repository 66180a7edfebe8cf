import type { Policy } from '../policy/index.js'
import { KeyHash } from './key-hash.js'

/**
 * Remembers which evicted keys must stay denied, and until when, in a fixed amount of memory.
 *
 * It is a Bloom filter whose cells hold times. Each key has four cells, and is denied until the earliest time in them.
 * Adding a key only raises times, so keys of policies with the same or a shorter window cannot release a denied key
 * early. A key whose four cells were all raised by other keys counts as denied too, or, if those keys have a longer
 * window, is released: rare up to as many evicted denied keys as the store has room for, and more likely beyond.
 */
export class EvictedKeys {
  /** Microseconds, by cell. Allocated when the first key is added. */
  #ends: Float64Array | undefined
  readonly #size: number
  readonly #hash = new KeyHash()
  readonly #stepHash = new KeyHash()

  constructor(maxKeys: number) {
    let size = MIN_CELLS
    while (size < CELLS_PER_KEY * maxKeys && size < MAX_CELLS) size *= 2
    this.#size = size
  }

  /** Debt can outlast every other state of a policy; the key is then released earlier. */
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
    // A later end than any state of this policy can have was set by other policies, or under another clock.
    return end > now && end - now <= longestLifetime(policy) ? end : 0
  }

  /** Releases a key, and with it the keys that share the cell. */
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
 * An upper bound for states without debt: a counter's state lives for two windows, and for one more after the clock
 * stepped back.
 */
function longestLifetime(policy: Policy): number {
  if (policy.algorithm === 'concurrency') return policy.ttlUs
  return 3 * ('windowUs' in policy ? policy.windowUs : policy.spanUs + 1)
}

const CELLS_PER_KEY = 8
const MIN_CELLS = 2 ** 18
const MAX_CELLS = 2 ** 26
