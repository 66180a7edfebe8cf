import { LAYOUT, makeRows, type Rows } from '../algorithms/rows.js'

const { ROW } = LAYOUT

/**
 * Rows for keys. A row's place, its slot, is a number above 0.
 *
 * Rows come in chunks of plain numbers: to the garbage collector a million of them are a few hundred objects,
 * growing never copies, and one can be picked at random, which is what eviction needs. The first row of
 * each chunk belongs to nobody and stays zeros: it is what a key without state is read from.
 */
export class Slots {
  /** Rows in use. */
  size = 0
  /** Every slot in use is below it. */
  end = 0

  readonly #chunks: Chunk[] = []
  #firstFree = 0

  constructor() {
    this.#grow()
  }

  /** A row of zeros for this key. */
  add(owner: number, key: string): number {
    const slot = this.#free()
    const chunk = this.chunk(slot)
    const row = rowOf(slot)
    chunk.numbers[row * ROW] = 0
    chunk.keys[row] = ownCopy(key)
    chunk.owners[row] = owner
    this.size++
    return slot
  }

  remove(slot: number): void {
    const chunk = this.chunk(slot)
    const row = rowOf(slot)
    chunk.keys[row] = ''
    chunk.owners[row] = NOBODY
    clear(chunk, row)
    chunk.numbers[row * ROW] = this.#firstFree
    this.#firstFree = slot
    this.size--
  }

  /** The chunk that a slot is in, at `rowOf(slot)`. Slot 0 is in the first chunk. */
  chunk(slot: number): Chunk {
    return this.#chunks[slot >>> CHUNK_BITS]!
  }

  #free(): number {
    const slot = this.#firstFree
    if (slot === 0) {
      if (rowOf(this.end) === 0) this.#grow()
      return this.end++
    }
    this.#firstFree = this.chunk(slot).numbers[rowOf(slot) * ROW]!
    return slot
  }

  #grow(): void {
    this.#chunks.push({
      numbers: zeros(CHUNK * ROW),
      objects: [],
      blockedUntil: [],
      owners: new Int32Array(CHUNK).fill(NOBODY),
      keys: new Array(CHUNK).fill(''),
    })
    this.end++
  }
}

export interface Chunk extends Rows {
  /** Whose row it is, or `NOBODY`. */
  readonly owners: Int32Array
  readonly keys: string[]
  /** Until when the last request of a row that was refused would be refused again. Empty until one was. */
  blockedUntil: number[]
}

/** Makes a row an untouched one. */
export function clear(chunk: Chunk, row: number): void {
  chunk.numbers.fill(0, row * ROW, (row + 1) * ROW)
  if (chunk.objects.length > row) chunk.objects[row] = undefined
  if (chunk.blockedUntil.length > 0) chunk.blockedUntil[row] = 0
}

export function blockUntil(chunk: Chunk, row: number, time: number): void {
  if (chunk.blockedUntil.length === 0) chunk.blockedUntil = zeros(CHUNK)
  chunk.blockedUntil[row] = time
}

export const NOBODY = -1

/** With their header, a chunk's numbers are larger than what V8's scavenger copies (128 kB): growing makes no work for it. */
const CHUNK_BITS = 12
const CHUNK = 1 << CHUNK_BITS

/** To copy zeros is far faster than to make them. */
let untouched: number[] | undefined

function zeros(count: number): number[] {
  untouched ??= makeRows(CHUNK).numbers
  return untouched.slice(0, count)
}

export function rowOf(slot: number): number {
  return slot & (CHUNK - 1)
}

/**
 * The same text in memory of its own. A string cut out of a larger one (a header, a path) keeps the larger
 * one alive, so that a table of short keys could hold on to gigabytes of requests. Shorter ones than this
 * are copied by the engine when they are cut.
 */
function ownCopy(key: string): string {
  if (key.length < 13) return key
  const units = new Uint16Array(key.length)
  for (let i = 0; i < key.length; i++) units[i] = key.charCodeAt(i)
  return String.fromCharCode.apply(null, units as unknown as number[])
}
