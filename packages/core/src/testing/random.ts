/** A small generator of random numbers that a seed repeats exactly, in every runtime (mulberry32). */
export interface Random {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  oneOf<T>(choices: readonly T[]): T
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return { between, oneOf: (choices) => choices[between(0, choices.length - 1)]! }
}
