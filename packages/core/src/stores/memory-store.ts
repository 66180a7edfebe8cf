import type { Algorithm, Mode } from '../algorithms/algorithm.js'
import { algorithmOf } from '../algorithms/all.js'
import { decideRow } from '../algorithms/decide-row.js'
import { LAYOUT } from '../algorithms/rows.js'
import { type Clock, msToUs, systemClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type Policy } from '../policy.js'
import { assertCost, assertRefund, limitsOf, takeResult } from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'
import { storeClosed } from '../store/store-error.js'
import { KeyMap } from './key-map.js'
import { NOBODY, rowOf, Slots } from './slots.js'

const { ROW, EXPIRES_AT } = LAYOUT

export interface MemoryStoreOptions {
  /** Where the time comes from. Default: the machine's clock. */
  clock?: Clock
  /** The most keys it remembers, over all policies. Default: 1,000,000. */
  maxKeys?: number
}

/**
 * State in this process, in bounded memory and without timers: what has expired is swept up a little at a
 * time as new keys come, and a full store lets go of the keys that matter least.
 */
export class MemoryStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  #clock: Clock
  readonly #maxKeys: number
  #slots = new Slots()
  /** The first of each name's spaces; the others are behind it. */
  readonly #spaces = new Map<string, Space>()
  /** All of them by their numbers, by which rows name them. */
  readonly #spaceByNumber: (Space | undefined)[] = []
  readonly #keyOf = (slot: number) => this.#slots.chunk(slot).keys[rowOf(slot)]!
  #lastSpace = NO_SPACE
  readonly #freeNumbers: number[] = []
  /** Whether there ever were several algorithms under one name: what that takes is not asked for otherwise. */
  #hasSharedNames = false
  #sweptUpTo = 0
  #spacesSweptUpTo = 0

  constructor(options: MemoryStoreOptions = {}) {
    assertOptions('new MemoryStore()', options, ['clock', 'maxKeys'])
    const { clock = systemClock, maxKeys = 1_000_000 } = options
    if (typeof clock?.nowUs !== 'function') {
      throw new TidegateError(
        'OPTION_INVALID',
        `clock must have nowUs(), got ${show(clock)}. Leave it out for the machine's clock.`,
        { field: 'clock' },
      )
    }
    if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
      throw new TidegateError(
        'OPTION_INVALID',
        `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS}, got ${show(maxKeys)}. Leave it out for 1,000,000.`,
        { field: 'maxKeys' },
      )
    }
    this.#clock = clock
    this.#maxKeys = maxKeys
  }

  /** How many keys it remembers now. */
  get size(): number {
    return this.#slots.size
  }

  /** Short, as is all that it calls for a key that it knows: `Algorithm.check` says why. */
  check({ policy, key, cost }: TakeRequest): Decision {
    const now = this.#clock.nowUs()
    let space = this.#lastSpace
    if (space.policy !== policy) space = this.#findSpace(policy)
    if (cost !== 1) assertCost(policy, cost)
    const slot = space.slots.get(key) || this.#addKey(space, key, now)
    return space.algorithm.check(policy, this.#slots.chunk(slot), rowOf(slot), now, cost)
  }

  take(requests: readonly TakeRequest[]): WholeTakeResult {
    const now = this.#clock.nowUs()
    const asked = limitsOf(requests)
    const { limits } = asked
    // Look at every limit before the first is charged.
    const looks = limits.map((limit) => this.#decide(limit, now, 'peek'))
    const allowed = looks.every((look) => look.allowed)
    const mode = allowed ? 'take' : 'repair'
    const decisions = limits.map((limit) => this.#decide(limit, now, mode))
    return takeResult(asked, decisions, allowed)
  }

  peek(request: TakeRequest): Decision {
    return this.#decide(request, this.#clock.nowUs(), 'peek')
  }

  refund(request: RefundRequest): number {
    const now = this.#clock.nowUs()
    assertRefund(request)
    const { policy, key, timeMs, cost } = request
    const space = this.#spaceOf(policy)
    const slot = space.slots.get(key)
    if (slot === 0 || this.#number(slot, EXPIRES_AT) <= now) return 0
    const rows = this.#slots.chunk(slot)
    const given = space.algorithm.refund(policy, rows, rowOf(slot), now, msToUs(timeMs), cost)
    if (this.#number(slot, EXPIRES_AT) <= now) this.#forget(space, slot)
    return given
  }

  reset({ policy, key }: ResetRequest): void {
    this.#clock.nowUs()
    assertPolicy(policy)
    assertKey(key)
    this.#forgetIn(this.#spaces.get(policy.name), key)
  }

  close(): void {
    this.#clock = CLOSED
    this.#slots = new Slots()
    this.#spaces.clear()
    this.#spaceByNumber.length = 0
    this.#lastSpace = NO_SPACE
  }

  #decide({ policy, key, cost }: TakeRequest, now: number, mode: Mode): Decision {
    const space = this.#spaceOf(policy)
    if (cost !== 1) assertCost(policy, cost)
    let slot = space.slots.get(key)
    if (slot === 0) {
      // Where nothing is taken no key is added, and the slot that is nobody's will do.
      if (mode === 'take') slot = this.#addKey(space, key, now)
      else assertKey(key)
    }
    return decideRow(space.algorithm, policy, this.#slots.chunk(slot), rowOf(slot), now, cost, mode)
  }

  /** The keys that this policy's algorithm has counted under its name, read by this policy from now on. */
  #spaceOf(policy: Policy): Space {
    return this.#lastSpace.policy === policy ? this.#lastSpace : this.#findSpace(policy)
  }

  #findSpace(policy: Policy): Space {
    const known = this.#spaces.get(policy?.name)
    const space = known !== undefined && known.policy === policy ? known : this.#adopt(policy, known)
    this.#lastSpace = space
    return space
  }

  #adopt(policy: Policy, known: Space | undefined): Space {
    assertPolicy(policy)
    const algorithm = algorithmOf(policy)
    let space = known
    while (space !== undefined && space.algorithm !== algorithm) space = space.next
    // Another algorithm starts afresh. Until it has a key, its space is nobody's.
    if (space === undefined)
      return { number: NOBODY, policy, algorithm, slots: new KeyMap(this.#keyOf), size: 0, next: undefined }
    space.policy = policy
    return space
  }

  /** Two spaces for every new one: those without keys do not pile up. */
  #sweepSpaces(): void {
    for (let i = 0; i < SWEPT_PER_NEW_KEY; i++) {
      this.#spacesSweptUpTo =
        this.#spacesSweptUpTo + 1 < this.#spaceByNumber.length ? this.#spacesSweptUpTo + 1 : 0
      const space = this.#spaceByNumber[this.#spacesSweptUpTo]
      if (space === undefined || space.size > 0) continue
      this.#unsettle(space)
      this.#spaceByNumber[space.number] = undefined
      this.#freeNumbers.push(space.number)
      space.number = NOBODY
    }
  }

  #unsettle(space: Space): void {
    const { name } = space.policy
    let before = this.#spaces.get(name)
    if (before === space && space.next === undefined) this.#spaces.delete(name)
    else if (before === space) this.#spaces.set(name, space.next!)
    else {
      while (before !== undefined && before.next !== space) before = before.next
      if (before !== undefined) before.next = space.next
    }
    space.next = undefined
  }

  /**
   * A slot for a key that is not there.
   *
   * In one piece, which is too long for V8 to compile into `check`: a process sees new keys first, and they would take
   * up the room there that known keys need.
   */
  #addKey(space: Space, key: string, now: number): number {
    assertKey(key)
    // A few slots for every new key: what has expired is gone after half as many new keys as there are slots.
    for (let i = 0; i < SWEPT_PER_NEW_KEY; i++) {
      const swept = this.#sweptUpTo + 1 < this.#slots.end ? this.#sweptUpTo + 1 : 0
      const owner = this.#ownerOf(swept)
      if (owner !== undefined && this.#number(swept, EXPIRES_AT) <= now) this.#forget(owner, swept)
      this.#sweptUpTo = swept
    }
    if (this.#slots.size >= this.#maxKeys) this.#evict(now)

    if (space.size++ === 0 && space.number === NOBODY) {
      // With its first key a space is among those of its name.
      this.#sweepSpaces()
      space.number = this.#freeNumbers.pop() ?? this.#spaceByNumber.length
      this.#spaceByNumber[space.number] = space
      space.next = this.#spaces.get(space.policy.name)
      if (space.next !== undefined) this.#hasSharedNames = true
      this.#spaces.set(space.policy.name, space)
    }
    // What another algorithm has counted of this key ends here; of other keys it goes on.
    if (this.#hasSharedNames) this.#forgetIn(this.#spaces.get(space.policy.name), key)
    const slot = this.#slots.add(space.number, key)
    space.slots.add(this.#keyOf(slot), slot)
    return slot
  }

  /** Forgets a key under whichever algorithm of a name it is: in one space at most. */
  #forgetIn(first: Space | undefined, key: string): void {
    for (let space = first; space !== undefined; space = space.next) {
      const slot = space.slots.get(key)
      if (slot !== 0) this.#forget(space, slot)
    }
  }

  #forget(space: Space, slot: number): void {
    space.slots.delete(this.#keyOf(slot), slot)
    this.#slots.remove(slot)
    space.size--
  }

  /**
   * Out of a few keys at random, the one that matters least goes. A key that is being refused
   * goes last: a blocked client must not free itself by flooding the store with other keys.
   */
  #evict(now: number): void {
    let victim = this.#candidate(now)
    for (let i = 1; i < MAX_SAMPLES; i++) {
      if (i >= SAMPLES && !victim.isRefused) break
      const other = this.#candidate(now)
      if (goesBefore(other, victim)) victim = other
    }
    this.#forget(victim.space, victim.slot)
  }

  #candidate(now: number): Candidate {
    let slot: number
    let space: Space | undefined
    do {
      slot = Math.floor(Math.random() * this.#slots.end)
      space = this.#ownerOf(slot)
    } while (space === undefined)
    const { policy, algorithm } = space
    const rows = this.#slots.chunk(slot)
    const look = decideRow(algorithm, policy, rows, rowOf(slot), now, 1, 'peek')
    const expiresAt = this.#number(slot, EXPIRES_AT)
    const refusedUntil = rows.refusedUntil[rowOf(slot)] ?? 0
    // Nobody is refused for longer than the state lasts: what says so is left over from another clock or other numbers.
    const isRefused = refusedUntil > now && refusedUntil <= expiresAt
    return {
      slot,
      space,
      isRefused,
      share: 1 - look.remaining / policy.limit,
      until: isRefused ? refusedUntil : expiresAt,
    }
  }

  #ownerOf(slot: number): Space | undefined {
    const owner = this.#slots.chunk(slot).owners[rowOf(slot)]!
    return owner === NOBODY ? undefined : this.#spaceByNumber[owner]
  }

  #number(slot: number, field: number): number {
    return this.#slots.chunk(slot).numbers[rowOf(slot) * ROW + field]!
  }
}

/** The time of a store that is closed: whoever asks for it hears so. */
const CLOSED: Clock = {
  nowUs() {
    throw storeClosed('This memory store')
  },
}

/** The keys of one policy name that one algorithm has counted. A key is in one of a name's spaces at most. */
interface Space {
  /** What its rows name it by; `NOBODY` until it has one. */
  number: number
  readonly slots: KeyMap
  size: number
  /** The policy last seen under this name and algorithm. */
  policy: Policy
  readonly algorithm: Algorithm<Policy, object>
  /** That of another algorithm under the same name. */
  next: Space | undefined
}

/** Before there is a last one: its policy is nobody's. */
const NO_SPACE = { policy: {} } as Space

interface Candidate {
  slot: number
  space: Space
  isRefused: boolean
  /** How much of the limit is used, 0 to 1; nothing of what has expired. */
  share: number
  /** When it will no longer be refused, or no longer mean anything. */
  until: number
}

/** Whether `a` should be let go rather than `b`. */
function goesBefore(a: Candidate, b: Candidate): boolean {
  if (a.isRefused !== b.isRefused) return b.isRefused
  if (!a.isRefused && a.share !== b.share) return a.share < b.share
  return a.until < b.until
}

const MAX_MAX_KEYS = 1_000_000_000
const SWEPT_PER_NEW_KEY = 2
/** Keys compared when one must go, and how many at most while all of them are being refused. */
const SAMPLES = 8
const MAX_SAMPLES = 64
