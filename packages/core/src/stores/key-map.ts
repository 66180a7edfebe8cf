import { KeyIndex } from './key-index.js'

/**
 * A map from keys to numbers above 0, for millions of keys.
 *
 * A JavaScript `Map` is the fastest there is, but it copies itself whole whenever it grows: at a million
 * keys that stops the process for tens of milliseconds. So the first thousands of keys are in a `Map`; with
 * every key that comes after them, a few move over to a `KeyIndex`, until all are there.
 */
export class KeyMap {
  readonly #map = new Map<string, number>()
  #index = NO_INDEX
  readonly #keyOf: (number: number) => string

  constructor(keyOf: (number: number) => string) {
    this.#keyOf = keyOf
  }

  /** The key's number, or 0. */
  get(key: string): number {
    return this.#map.get(key) ?? this.#index.get(key)
  }

  /** Adds a key that is not there. */
  add(key: string, number: number): void {
    if (this.#index === NO_INDEX) {
      this.#map.set(key, number)
      if (this.#map.size >= MAX_MAP) this.#index = new KeyIndex(this.#keyOf)
      return
    }
    this.#index.add(key, number)
    if (this.#map.size > 0) this.#moveSome(this.#index)
  }

  /** Removes a key that is there. */
  delete(key: string, number: number): void {
    if (!this.#map.delete(key)) this.#index.delete(key, number)
  }

  #moveSome(index: KeyIndex): void {
    let left = MOVED_PER_KEY
    for (const [key, number] of this.#map) {
      if (left-- === 0) return
      this.#map.delete(key)
      index.add(key, number)
    }
  }
}

/** A map of this size grows in about a millisecond. */
const MAX_MAP = 16_384
const MOVED_PER_KEY = 4
/** Before there is one: nothing is in it. */
const NO_INDEX = { get: (_key: string) => 0 } as KeyIndex
