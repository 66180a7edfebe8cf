/**
 * Where states are kept in memory: row r has `ROW` numbers from `numbers[r * ROW]` on, and one object for
 * what does not fit into numbers. With four numbers it is half a line of the processor's cache.
 */
export interface Rows {
  readonly numbers: number[]
  /** Empty until there is something that does not fit: most algorithms never need it. */
  readonly objects: (object | undefined)[]
  /** By row: until when what was last refused is refused. A full store lets go of such keys last. Empty until one is. */
  refusedUntil: number[]
}

/**
 * `ROW`: how many numbers a row has. The first three are the algorithm's own; the one at `EXPIRES_AT` says when the
 * state will mean the same as an untouched one.
 *
 * Each file makes constants of its own of these: an imported one is read from its module whenever it is used, a
 * file's own is compiled in, and a check uses a dozen.
 */
export const LAYOUT = { ROW: 4, EXPIRES_AT: 3 } as const

const { ROW } = LAYOUT

export function makeRows(count: number): Rows {
  return { numbers: zeros(count * ROW), objects: [], refusedUntil: [] }
}

/** Makes a row an untouched one. */
export function clear(rows: Rows, row: number): void {
  rows.numbers.fill(0, row * ROW, (row + 1) * ROW)
  if (rows.objects.length > row) rows.objects[row] = undefined
  if (rows.refusedUntil.length > 0) rows.refusedUntil[row] = 0
}

/**
 * An ordinary array that the engine knows to hold doubles, side by side as in a typed array; but the memory of typed
 * arrays is not on the heap, and for every 64 MB of it V8 collects all garbage there is, at once.
 */
export function zeros(count: number): number[] {
  while (someZeros.length < count) someZeros = someZeros.concat(someZeros)
  return someZeros.slice(0, count)
}

/** To copy zeros is far faster than to make them. */
let someZeros = Array.from(new Float64Array(ROW))
