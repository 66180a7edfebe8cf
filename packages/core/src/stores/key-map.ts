/**
 * A map from keys to numbers above 0, for millions of keys.
 *
 * A JavaScript `Map` copies itself whole whenever it grows; at a million keys that stops the process for
 * tens of milliseconds. So the first thousands of keys are in one map, which costs nothing extra, and the
 * rest in many small ones, chosen by a hash. The hash has a secret, so that nobody can choose keys that
 * all fall into one.
 */
export class KeyMap {
  readonly #first = new Map<string, number>()
  #shards: Map<string, number>[] | undefined
  readonly #secret = Math.floor(Math.random() * 2 ** 32)

  /** The key's number, or 0. */
  get(key: string): number {
    const found = this.#first.get(key)
    if (found !== undefined) return found
    // Whoever asks for something that is no text hears from elsewhere that it is no key.
    if (this.#shards === undefined || typeof key !== 'string') return 0
    return this.#shards[this.#hash(key)]!.get(key) ?? 0
  }

  /** Adds a key that is not there. */
  add(key: string, number: number): void {
    if (this.#first.size < MAX_FIRST) {
      this.#first.set(key, number)
    } else {
      this.#shards ??= new Array(SHARDS).fill(NOTHING)
      const hash = this.#hash(key)
      if (this.#shards[hash] === NOTHING) this.#shards[hash] = new Map()
      this.#shards[hash]!.set(key, number)
    }
  }

  delete(key: string): void {
    if (!this.#first.delete(key)) this.#shards?.[this.#hash(key)]?.delete(key)
  }

  #hash(key: string): number {
    let hash = this.#secret
    for (let i = 0; i < key.length; i++) {
      hash = Math.imul(((hash << 5) | (hash >>> 27)) ^ key.charCodeAt(i), 0x9e3779b1)
    }
    return (hash ^ (hash >>> 15)) & (SHARDS - 1)
  }
}

/** A map of this size grows in about a millisecond. */
const MAX_FIRST = 16_384
const SHARDS = 1024
/** Stands for a map that is not needed yet. Nothing is ever put into it. */
const NOTHING = new Map<string, number>()
