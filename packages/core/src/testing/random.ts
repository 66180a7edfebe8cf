/** A random number generator: see `randomFrom`. */
export interface Random {
  /** Returns a number from 0 to below 1. */
  fraction(): number
  /** Returns a whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** Returns one of the choices. */
  oneOf<T>(choices: readonly T[]): T
}

/** Creates a random number generator with the same numbers for the same seed in every runtime (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1))
  return { fraction, between, oneOf: (choices) => choices[between(0, choices.length - 1)]! }
}
