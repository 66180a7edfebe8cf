/**
 * Where states are kept in memory: row r has `ROW` numbers from `numbers[r * ROW]` on, and one object for
 * what does not fit into numbers.
 */
export interface Rows {
  readonly numbers: Float64Array
  /** Empty until there is something that does not fit: most algorithms never need it. */
  readonly objects: (object | undefined)[]
}

/** The first four are the algorithm's own. Then: when the state will mean the same as an untouched one. */
export const EXPIRES_AT = 4

/** One more is the store's, for whatever it likes. */
export const STORE_NUMBER = 5

export const ROW = 6

export function makeRows(count: number): Rows {
  return { numbers: new Float64Array(count * ROW), objects: [] }
}
