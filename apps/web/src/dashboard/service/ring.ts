/** The last `capacity` numbers, in a fixed amount of memory. */
export interface Ring {
  readonly length: number
  push(value: number): void
  /** The last value; undefined while empty. */
  readonly last: number | undefined
  /** Oldest first; NaN as null. */
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
