import { KeyIndex } from './key-index.js'
import type { Rows } from './rows.js'

/**
 * Finds the slot of a policy name and a key.
 *
 * A `Map` is the fastest table, but growing copies it as a whole, which takes tens of milliseconds at a million keys. So
 * the first keys are in maps, one per policy name. Above a threshold, new keys go to a `KeyIndex`, and each of them moves a
 * few of the first keys there.
 */
export class KeyTable {
  readonly #maps = new Map<string, Map<string, number>>()
  /** Caches the map of the last name, because consecutive calls usually have the same policy. */
  #lastName = ''
  #lastMap: Map<string, number> | undefined
  /** The number of keys in all maps. */
  #mapped = 0
  #index: KeyIndex | undefined
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** The key's slot, or 0. */
  find(name: string, key: string): number {
    const slot = this.#mapOf(name)?.get(key)
    if (slot !== undefined) return slot
    // Non-strings are rejected later by `assertKey`.
    return this.#index === undefined || typeof key !== 'string' ? 0 : this.#index.find(name, key)
  }

  /** Adds a key that is not in the table. */
  add(name: string, key: string, slot: number): void {
    if (this.#index !== undefined) {
      this.#index.add(name, key, slot)
      if (this.#mapped > 0) this.#moveSome(this.#index)
      return
    }
    const map = this.#mapOf(name) ?? this.#addMap(name)
    map.set(key, slot)
    if (++this.#mapped === MAX_MAPPED) this.#index = new KeyIndex(this.#rows)
  }

  /** Removes a key that is in the table. */
  remove(name: string, key: string, slot: number): void {
    const map = this.#mapOf(name)
    if (map === undefined || !map.delete(key)) {
      this.#index?.remove(name, key, slot)
      return
    }
    this.#mapped--
    if (map.size === 0) this.#removeMap(name)
  }

  #mapOf(name: string): Map<string, number> | undefined {
    if (name !== this.#lastName) {
      this.#lastName = name
      this.#lastMap = this.#maps.get(name)
    }
    return this.#lastMap
  }

  #addMap(name: string): Map<string, number> {
    const map = new Map<string, number>()
    this.#maps.set(name, map)
    this.#lastName = name
    this.#lastMap = map
    return map
  }

  #removeMap(name: string): void {
    this.#maps.delete(name)
    if (name === this.#lastName) this.#lastMap = undefined
  }

  #moveSome(index: KeyIndex): void {
    let left = MOVED_PER_NEW_KEY
    for (const [name, map] of this.#maps) {
      for (const [key, slot] of map) {
        if (left-- === 0) return
        this.remove(name, key, slot)
        index.add(name, key, slot)
      }
    }
  }
}

/** Growing a map of this size takes about a millisecond. */
const MAX_MAPPED = 16_384
const MOVED_PER_NEW_KEY = 4
