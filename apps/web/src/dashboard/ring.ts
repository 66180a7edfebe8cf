/** The last so many numbers, in memory that is taken once. */
export interface Ring {
  readonly length: number
  push(value: number): void
  /** The last one, or nothing yet. */
  readonly last: number | undefined
  /** The oldest first; NaN, which is no number, as null. */
  values(): (number | null)[]
}

export function createRing(capacity: number): Ring {
  const numbers = new Float64Array(capacity)
  let start = 0
  let length = 0
  const at = (i: number) => numbers[(start + i) % capacity] ?? Number.NaN
  return {
    get length() {
      return length
    },
    get last() {
      return length === 0 ? undefined : at(length - 1)
    },
    push(value) {
      if (length < capacity) length++
      else start = (start + 1) % capacity
      numbers[(start + length - 1) % capacity] = value
    },
    values: () => Array.from({ length }, (_, i) => (Number.isNaN(at(i)) ? null : at(i))),
  }
}
