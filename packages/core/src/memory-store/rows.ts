import type { ConcurrencyState } from '../algorithms/concurrency.js'
import type { KeyState } from '../algorithms/index.js'
import type { SlidingWindowLogState } from '../algorithms/sliding-window-log.js'
import type { Policy } from '../policy/index.js'

/** The state in a row. */
export type RowState = KeyState | ConcurrencyState

/**
 * The states of all keys, one row each. A row is addressed by its slot, a number above 0, and holds its key, the policy
 * that wrote it, and the state.
 *
 * The columns are arrays in chunks. A million keys are a few thousand arrays for the garbage collector instead of millions
 * of objects, growing copies nothing, and eviction can pick a random row. Only `load` and `save` depend on the layout of a
 * state.
 */
export class Rows {
  /** The number of rows in use. */
  size = 0
  /** All used slots are below this number. */
  end = 1

  readonly #chunks: Chunk[] = [makeChunk()]
  /** The head of the list of free slots, linked through the first number of each row. 0 if the list is empty. */
  #firstFree = 0

  /** Adds a row. The caller must save a state before reading the row. */
  add(policy: Policy, key: string): number {
    const slot = this.#takeFreeSlot()
    const chunk = this.#chunkOf(slot)
    const row = slot % CHUNK
    chunk.keys[row] = flatCopy(key)
    chunk.policies[row] = policy
    this.size++
    return slot
  }

  remove(slot: number): void {
    const chunk = this.#chunkOf(slot)
    const row = slot % CHUNK
    chunk.keys[row] = ''
    chunk.policies[row] = undefined
    if (chunk.objects !== undefined) chunk.objects[row] = undefined
    if (chunk.deniedUntil !== undefined) chunk.deniedUntil[row] = 0
    if (chunk.rooms !== undefined) chunk.rooms[row] = undefined
    chunk.numbers[row * NUMBERS] = this.#firstFree
    this.#firstFree = slot
    this.size--
  }

  keyOf(slot: number): string {
    return this.#chunkOf(slot).keys[slot % CHUNK]!
  }

  /** The policy that wrote the row; undefined if the slot is free. */
  policyOf(slot: number): Policy | undefined {
    return this.#chunkOf(slot).policies[slot % CHUNK]
  }

  belongsTo(slot: number, name: string, key: string): boolean {
    const { keys, policies } = this.#chunkOf(slot)
    const row = slot % CHUNK
    return keys[row] === key && policies[row]!.name === name
  }

  expiresAt(slot: number): number {
    return this.#chunkOf(slot).numbers[(slot % CHUNK) * NUMBERS + EXPIRES_AT]!
  }

  /** The end of the last denial; 0 if there was none. */
  deniedUntil(slot: number): number {
    return this.#chunkOf(slot).deniedUntil?.[slot % CHUNK] ?? 0
  }

  setDeniedUntil(slot: number, time: number): void {
    const chunk = this.#chunkOf(slot)
    chunk.deniedUntil ??= ZEROS.slice(0, CHUNK)
    chunk.deniedUntil[slot % CHUNK] = time
  }

  /** The state of a row, or undefined if it has expired. The object is reused, so it is valid until the next load. */
  load(slot: number, now: number): RowState | undefined {
    const { policies, numbers, objects, rooms } = this.#chunkOf(slot)
    const row = slot % CHUNK
    const i = row * NUMBERS
    const expiresAt = numbers[i + EXPIRES_AT]!
    if (expiresAt <= now) return undefined
    const { algorithm } = policies[row]!
    switch (algorithm) {
      case 'token-bucket':
      case 'leaky-bucket': {
        const state = SCRATCH[algorithm]
        state.level = numbers[i]!
        state.unit = numbers[i + 1]!
        state.time = numbers[i + 2]!
        state.expiresAt = expiresAt
        if (state.algorithm === 'token-bucket') state.room = rooms?.[row]
        return state
      }
      case 'fixed-window': {
        const state = SCRATCH[algorithm]
        state.count = numbers[i]!
        state.start = numbers[i + 1]!
        state.length = numbers[i + 2]!
        state.room = rooms?.[row]
        state.expiresAt = expiresAt
        return state
      }
      case 'sliding-window-counter': {
        const state = SCRATCH[algorithm]
        state.curr = numbers[i]!
        state.prev = numbers[i + 1]!
        state.length = numbers[i + 2]!
        // Derived, because a row has room for four numbers: the state expires two windows after its start.
        state.start = expiresAt - 2 * state.length
        state.room = rooms?.[row]
        state.expiresAt = expiresAt
        return state
      }
      case 'sliding-window-log':
      case 'concurrency':
        return objects![row]!
    }
  }

  save(slot: number, policy: Policy, state: RowState): void {
    const chunk = this.#chunkOf(slot)
    const { numbers } = chunk
    const row = slot % CHUNK
    const i = row * NUMBERS
    chunk.policies[row] = policy
    numbers[i + EXPIRES_AT] = state.expiresAt
    let room: number | undefined
    switch (state.algorithm) {
      case 'token-bucket':
      case 'leaky-bucket':
        if (state.algorithm === 'token-bucket') room = state.room
        numbers[i] = state.level
        numbers[i + 1] = state.unit
        numbers[i + 2] = state.time
        break
      case 'fixed-window':
        room = state.room
        numbers[i] = state.count
        numbers[i + 1] = state.start
        numbers[i + 2] = state.length
        break
      case 'sliding-window-counter':
        room = state.room
        numbers[i] = state.curr
        numbers[i + 1] = state.prev
        numbers[i + 2] = state.length
        break
      case 'sliding-window-log':
      case 'concurrency':
        chunk.objects ??= new Array(CHUNK).fill(undefined)
        chunk.objects[row] = state
        return
    }
    if (chunk.objects !== undefined) chunk.objects[row] = undefined
    if (chunk.rooms !== undefined || room !== undefined) {
      chunk.rooms ??= new Array(CHUNK).fill(undefined)
      chunk.rooms[row] = room
    }
  }

  #chunkOf(slot: number): Chunk {
    return this.#chunks[slot >>> CHUNK_BITS]!
  }

  #takeFreeSlot(): number {
    const slot = this.#firstFree
    if (slot === 0) {
      if (this.end % CHUNK === 0) this.#chunks.push(makeChunk())
      return this.end++
    }
    this.#firstFree = this.#chunkOf(slot).numbers[(slot % CHUNK) * NUMBERS]!
    return slot
  }
}

interface Chunk {
  readonly keys: string[]
  readonly policies: (Policy | undefined)[]
  /** Four numbers per row: three of the state, and its expiry. */
  readonly numbers: number[]
  /** States of variable size: logs and slots. Created with the first of them in this chunk. */
  objects: (SlidingWindowLogState | ConcurrencyState | undefined)[] | undefined
  /** Created with the first denial in this chunk. */
  deniedUntil: number[] | undefined
  /** Created with the first reservation in this chunk. */
  rooms: (number | undefined)[] | undefined
}

const CHUNK_BITS = 8
const CHUNK = 1 << CHUNK_BITS
const NUMBERS = 4
const EXPIRES_AT = 3

const NONE = undefined as number | undefined

/** The objects that `load` returns, so that a check does not allocate a state. */
const SCRATCH = {
  'token-bucket': {
    algorithm: 'token-bucket' as const,
    level: 0,
    unit: 0,
    time: 0,
    room: NONE,
    expiresAt: 0,
  },
  'leaky-bucket': { algorithm: 'leaky-bucket' as const, level: 0, unit: 0, time: 0, expiresAt: 0 },
  'fixed-window': {
    algorithm: 'fixed-window' as const,
    count: 0,
    start: 0,
    length: 0,
    room: NONE,
    expiresAt: 0,
  },
  'sliding-window-counter': {
    algorithm: 'sliding-window-counter' as const,
    curr: 0,
    prev: 0,
    start: 0,
    length: 0,
    room: NONE,
    expiresAt: 0,
  },
}

/**
 * Copies of this array are stored as unboxed doubles, like typed arrays, but inside the heap. The memory of typed arrays is
 * outside, and V8 runs a full garbage collection for every 64 MB of it.
 */
const ZEROS = Array.from(new Float64Array(CHUNK * NUMBERS))

function makeChunk(): Chunk {
  return {
    keys: new Array(CHUNK).fill(''),
    policies: new Array(CHUNK).fill(undefined),
    numbers: ZEROS.slice(),
    objects: undefined,
    deniedUntil: undefined,
    rooms: undefined,
  }
}

/**
 * Copies a key, so that it does not share memory with the string it was cut from: short keys could otherwise keep
 * gigabytes of headers alive. V8 itself copies substrings of less than 13 characters.
 */
function flatCopy(key: string): string {
  if (key.length < 13) return key
  const units = new Uint16Array(key.length)
  for (let i = 0; i < key.length; i++) units[i] = key.charCodeAt(i)
  return String.fromCharCode.apply(null, units as unknown as number[])
}
