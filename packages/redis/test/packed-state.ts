/** A state as the scripts keep it in a string: the algorithm's letter, and doubles. */
export function packedState(letter: string, ...numbers: number[]): Buffer {
  return Buffer.concat([Buffer.from(letter), Buffer.from(new Float64Array(numbers).buffer)])
}
