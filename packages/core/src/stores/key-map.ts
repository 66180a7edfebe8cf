import { KeyIndex } from './key-index.js'

/**
 * A map from keys to numbers above 0, for millions of keys.
 *
 * A JavaScript `Map` is the fastest there is, but it copies itself whole whenever it grows: at a million
 * keys that stops the process for tens of milliseconds. So the first thousands of keys are in a `Map`; with
 * every key that comes after them, a few move over to a `KeyIndex`, until all are there.
 */
export class KeyMap {
  #map: Map<string, number> | undefined = new Map()
  #index: KeyIndex | undefined
  readonly #keyOf: (number: number) => string

  constructor(keyOf: (number: number) => string) {
    this.#keyOf = keyOf
  }

  /** The key's number, or 0. */
  get(key: string): number {
    const found = this.#map?.get(key)
    if (found !== undefined) return found
    // Whoever asks for something that is no text hears from elsewhere that it is no key.
    return this.#index === undefined || typeof key !== 'string' ? 0 : this.#index.get(key)
  }

  /** Adds a key that is not there. */
  add(key: string, number: number): void {
    if (this.#index === undefined) {
      this.#map!.set(key, number)
      if (this.#map!.size >= MAX_MAP) this.#index = new KeyIndex(this.#keyOf)
      return
    }
    this.#index.add(key, number)
    if (this.#map !== undefined) this.#moveSome(this.#map, this.#index)
  }

  /** Removes a key that is there. */
  delete(key: string, number: number): void {
    if (this.#map?.delete(key) !== true) this.#index!.delete(key, number)
  }

  #moveSome(map: Map<string, number>, index: KeyIndex): void {
    let left = MOVED_PER_KEY
    for (const [key, number] of map) {
      if (left-- === 0) return
      map.delete(key)
      index.add(key, number)
    }
    this.#map = undefined
  }
}

/** A map of this size grows in about a millisecond. */
const MAX_MAP = 16_384
const MOVED_PER_KEY = 4
