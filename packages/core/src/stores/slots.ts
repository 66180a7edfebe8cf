import { clear, LAYOUT, makeRows, type Rows, zeros } from '../algorithms/rows.js'

const { ROW } = LAYOUT

/**
 * Rows for keys. A row's place, its slot, is a number above 0.
 *
 * Rows come in chunks of plain numbers: to the garbage collector a million of them are a few hundred objects,
 * growing copies one chunk at most, and one can be picked at random, which is what eviction needs. The first
 * row of each chunk belongs to nobody and stays zeros: it is what a key without state is read from.
 *
 * The first chunk starts small and doubles until it is as large as the others, so that a store of few keys is
 * small. Up to then it is the only one, and known before a slot is: a processor that has guessed so reads the
 * row as soon as it has the slot's number.
 */
export class Slots {
  /** Rows in use. */
  size = 0
  /** Every slot in use is below it. */
  end = 1

  #first = makeChunk(FIRST_ROWS)
  /** Those behind the first. */
  readonly #others: Chunk[] = []
  #firstFree = 0

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
    return slot < CHUNK ? this.#first : this.#others[(slot >>> CHUNK_BITS) - 1]!
  }

  #free(): number {
    const slot = this.#firstFree
    if (slot === 0) {
      if (this.end === this.#first.keys.length || rowOf(this.end) === 0) this.#grow()
      return this.end++
    }
    this.#firstFree = this.chunk(slot).numbers[rowOf(slot) * ROW]!
    return slot
  }

  #grow(): void {
    if (this.end < CHUNK) {
      this.#first = twiceAsLarge(this.#first)
    } else {
      this.#others.push(makeChunk(CHUNK))
      // Its first row is nobody's.
      this.end++
    }
  }
}

export interface Chunk extends Rows {
  /** Whose row it is, or `NOBODY`. */
  readonly owners: Int32Array
  readonly keys: string[]
}

export const NOBODY = -1

const FIRST_ROWS = 64
/** As many rows as there are keys in a `KeyMap` at its fastest. */
const CHUNK_BITS = 14
const CHUNK = 1 << CHUNK_BITS

function makeChunk(rows: number): Chunk {
  return {
    ...makeRows(rows),
    owners: new Int32Array(rows).fill(NOBODY),
    keys: new Array(rows).fill(''),
  }
}

function twiceAsLarge(chunk: Chunk): Chunk {
  const more = makeChunk(chunk.keys.length)
  const owners = new Int32Array(2 * chunk.owners.length)
  owners.set(chunk.owners)
  owners.set(more.owners, chunk.owners.length)
  return {
    numbers: chunk.numbers.concat(more.numbers),
    objects: chunk.objects,
    refusedUntil: chunk.refusedUntil.concat(zeros(chunk.refusedUntil.length)),
    owners,
    keys: chunk.keys.concat(more.keys),
  }
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
