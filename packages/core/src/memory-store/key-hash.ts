/** Hashes a policy name and a key to 32 bits. The seed is random, so that clients cannot choose keys that collide. */
export class KeyHash {
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 0
  /** Caches the hash of the last name, because consecutive calls usually have the same policy. */
  #name = ''
  #nameHash = this.#seed

  of(name: string, key: string): number {
    if (name !== this.#name) {
      this.#name = name
      this.#nameHash = mix(this.#seed, name)
    }
    let hash = mix(this.#nameHash, key)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    return hash ^ (hash >>> 13)
  }
}

function mix(seed: number, text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(((hash << 5) | (hash >>> 27)) ^ text.charCodeAt(i), 0x9e3779b1)
  }
  return hash
}
