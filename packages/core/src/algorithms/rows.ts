/**
 * Where states are kept in memory: row r has `ROW` numbers from `numbers[r * ROW]` on, and one object for
 * what does not fit into numbers. With four numbers, two rows are one line of the processor's cache.
 */
export interface Rows {
  readonly numbers: number[]
  /** Empty until there is something that does not fit: most algorithms never need it. */
  readonly objects: (object | undefined)[]
}

/** The first three are the algorithm's own. The last: when the state will mean the same as an untouched one. */
export const EXPIRES_AT = 3

export const ROW = 4

/**
 * Rows of zeros. Their numbers are an ordinary array that the engine knows to hold doubles, side by side as
 * in a typed array; but the memory of typed arrays is not on the heap, and for every 64 MB of it V8 collects
 * all garbage there is, at once.
 */
export function makeRows(count: number): Rows {
  return { numbers: Array.from(new Float64Array(count * ROW)), objects: [] }
}
