import { type Mode, toDecision } from '../algorithms/algorithm.js'
import * as concurrency from '../algorithms/concurrency.js'
import { decide, type KeyState, refund } from '../algorithms/index.js'
import { type Clock, msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertKey } from '../key.js'
import {
  assertPolicy,
  assertRatePolicy,
  type ConcurrencyPolicy,
  type Policy,
  type RatePolicy,
} from '../policy/index.js'
import { type JointReservation, jointReservationOf, settleIfHeld } from '../reservations/handle.js'
import { type ReservingStore, reserve, settle } from '../reservations/in-process.js'
import { parseReserve, parseSettle } from '../reservations/parse-reservation.js'
import { ReservedKeys } from '../reservations/reserved-keys.js'
import { blockedDecision } from '../store/blocked.js'
import type {
  BlockRequest,
  ReserveOptions,
  SettleResult,
  SlotRequest,
  TakeUpToRequest,
  TakeUpToResult,
} from '../store/full-store.js'
import { randomId } from '../store/random-id.js'
import {
  assertBlock,
  assertCharge,
  assertCost,
  assertRefund,
  assertSlot,
  assertSlotId,
  assertTakeUpTo,
  limitsOf,
  takeResult,
} from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'
import { storeClosed } from '../store/store-error.js'
import { takeUpToResult, unitsToTake } from '../store/take-up-to.js'
import { createBlocks } from './blocks.js'
import { EvictedKeys } from './evicted-keys.js'
import { pickVictim, staysDenied } from './eviction.js'
import { KeyTable } from './key-table.js'
import { type MemoryStoreOptions, parseOptions } from './memory-store-options.js'
import { Rows } from './rows.js'

/**
 * A store in this process, with bounded memory and without timers. Each new key removes up to two expired ones. A full
 * store evicts keys: unused keys first, denied keys last. An evicted key that was denied stays denied.
 *
 * @example
 * ```ts
 * const store = new MemoryStore({ maxKeys: 100_000 })
 * const limiter = createLimiter({ store, policy: fixedWindow({ limit: 100, window: '1m' }) })
 * ```
 */
export class MemoryStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  #clock: Clock
  readonly #maxKeys: number
  #rows = new Rows()
  #table = new KeyTable(this.#rows)
  #evictedKeys: EvictedKeys
  #blocks: ReturnType<typeof createBlocks>
  /** The last validated policy, because consecutive calls usually have the same policy. */
  #lastPolicy: object = {}
  #sweptUpTo = 0
  #reservedKeys: ReservedKeys
  readonly #reserving: ReservingStore = {
    reservationsOf: ({ name }, key, now) => this.#reservedKeys.obtain(name, key, now),
    decide: (limit, now, mode) =>
      mode === 'take' ? this.#take(limit, now) : this.#decideLimit(limit, now, mode),
    charge: (limit, now) => this.#charge(limit.policy, limit, now),
    load: ({ name }, key, now) => {
      const slot = this.#table.find(name, key)
      return slot === 0 ? undefined : (this.#rows.load(slot, now) as KeyState | undefined)
    },
    save: (policy, key, now, state) => {
      const slot = this.#table.find(policy.name, key)
      if (state !== undefined) this.#rows.save(slot === 0 ? this.#add(policy, key, now) : slot, policy, state)
      else if (slot !== 0) this.#remove(slot)
    },
  }

  constructor(options: MemoryStoreOptions = {}) {
    const { clock, maxKeys } = parseOptions(options)
    this.#clock = clock
    this.#maxKeys = maxKeys
    this.#evictedKeys = new EvictedKeys(maxKeys)
    this.#blocks = createBlocks(maxKeys)
    this.#reservedKeys = new ReservedKeys(maxKeys)
  }

  /** The number of keys in the store. */
  get size(): number {
    return this.#rows.size
  }

  check(request: TakeRequest): Decision {
    return this.#decideLimit(request, this.#clock.nowUs(), 'take')
  }

  take(requests: readonly TakeRequest[]): WholeTakeResult {
    const now = this.#clock.nowUs()
    const parsed = limitsOf(requests)
    const { limits } = parsed
    // Peek at every limit before charging any of them.
    const peeks = limits.map((limit) => this.#decideLimit(limit, now, 'peek'))
    const allowed = peeks.every((decision) => decision.allowed)
    const decisions = limits.map((limit) =>
      allowed ? this.#take(limit, now) : this.#decideLimit(limit, now, 'repair'),
    )
    return takeResult(parsed, decisions, allowed)
  }

  peek(request: TakeRequest): Decision {
    return this.#decideLimit(request, this.#clock.nowUs(), 'peek')
  }

  charge(request: TakeRequest): Decision {
    const now = this.#clock.nowUs()
    const { policy, key, cost } = request
    assertPolicy(policy)
    assertRatePolicy(policy, 'charge')
    assertCharge(policy, cost)
    assertKey(key)
    return this.#charge(policy, request, now)
  }

  takeUpTo(request: TakeUpToRequest): TakeUpToResult {
    const now = this.#clock.nowUs()
    const policy = assertTakeUpTo(request)
    const { key, min } = request
    const peek = this.#decideLimit({ policy, key, cost: min }, now, 'peek')
    const decision = this.#decideLimit({ policy, key, cost: unitsToTake(peek, request) }, now, 'take')
    return takeUpToResult(decision, this.#reserving.load(policy, key, now))
  }

  block(request: BlockRequest): void {
    const now = this.#clock.nowUs()
    assertBlock(request)
    const { policy, key, durationMs } = request
    assertRatePolicy(policy, 'block')
    this.#blocks.add(policy.name, key, msToUs(durationMs), now)
  }

  refund(request: RefundRequest): number {
    const now = this.#clock.nowUs()
    assertRefund(request)
    const { policy, key, timeMs, cost } = request
    assertRatePolicy(policy, 'refund')
    const slot = this.#table.find(policy.name, key)
    const before = slot === 0 ? undefined : this.#rows.load(slot, now)
    const { units, state } = refund(policy, before as KeyState | undefined, now, msToUs(timeMs), cost)
    if (units > 0 && state === undefined) this.#remove(slot)
    else if (units > 0) this.#rows.save(slot, policy, state!)
    return units
  }

  release(slots: readonly SlotRequest[]): boolean[] {
    return this.#changeSlots(slots, (_, state, now, id) => concurrency.release(state, now, id))
  }

  renew(slots: readonly SlotRequest[]): boolean[] {
    return this.#changeSlots(slots, concurrency.renew)
  }

  reset({ policy, key }: ResetRequest): void {
    this.#clock.nowUs()
    assertPolicy(policy)
    assertKey(key)
    const slot = this.#table.find(policy.name, key)
    if (slot !== 0) this.#remove(slot)
    this.#evictedKeys.remove(policy.name, key)
    this.#blocks.delete(policy.name, key)
    this.#reservedKeys.remove(policy.name, key)
  }

  /** Reserves units of every limit or of none. They are settled or cancelled by the reservation's id. */
  reserve(requests: readonly TakeRequest[], options?: ReserveOptions): JointReservation<SettleResult[]> {
    const now = this.#clock.nowUs()
    const request = parseReserve(requests, options)
    const { limits, id } = request
    const result = reserve(this.#reserving, request, now)
    return jointReservationOf(result, limits, (actual) =>
      settleIfHeld(result, () => this.settle(limits, id, actual)),
    )
  }

  settle(requests: readonly ResetRequest[], id: string, actual: readonly number[]): SettleResult[] {
    const now = this.#clock.nowUs()
    return parseSettle(requests, id, actual).map((limit) => settle(this.#reserving, limit, id, now))
  }

  close(): void {
    this.#clock = CLOSED
    this.#rows = new Rows()
    this.#table = new KeyTable(this.#rows)
    this.#evictedKeys = new EvictedKeys(this.#maxKeys)
    this.#blocks = createBlocks(this.#maxKeys)
    this.#reservedKeys = new ReservedKeys(this.#maxKeys)
  }

  /** Charges an allowed limit. Ignores that its key may just have been evicted to make room for another limit. */
  #take(limit: TakeRequest, now: number): Decision {
    // The take is allowed, so any block of the key has ended.
    this.#blocks.delete(limit.policy.name, limit.key)
    const slot = this.#table.find(limit.policy.name, limit.key)
    return this.#decide(limit, slot, now, 'take')
  }

  #charge(policy: RatePolicy, request: TakeRequest, now: number): Decision {
    const { key } = request
    const slot = this.#table.find(policy.name, key)
    // An evicted key that stays denied has used its whole limit.
    const isUsedUp = slot === 0 && this.#evictedKeys.endOf(policy, key, now) > 0
    if (isUsedUp) this.#decide({ ...request, cost: policy.limit }, slot, now, 'charge')
    return this.#decide(request, this.#table.find(policy.name, key), now, 'charge')
  }

  /** Decides a limit whose key may be blocked. A blocked key is not charged. */
  #decideLimit(request: TakeRequest, now: number, mode: Mode): Decision {
    const { policy, key, cost } = request
    if (policy !== this.#lastPolicy) {
      assertPolicy(policy)
      this.#lastPolicy = policy
    }
    if (cost !== 1) assertCost(policy, cost)
    const blockedUs = this.#blocks.isEmpty() ? 0 : this.#blocks.leftOf(policy.name, key, now, mode === 'peek')
    if (blockedUs > 0) {
      const decision = this.#decideUnlessEvicted(request, now, mode === 'take' ? 'repair' : mode)
      return blockedDecision(decision, blockedUs)
    }
    return policy.blockForUs > 0
      ? this.#decideAndBlock(request, now, mode)
      : this.#decideUnlessEvicted(request, now, mode)
  }

  /** Blocks the key if the limit denies it and no units remained before. */
  #decideAndBlock(request: TakeRequest, now: number, mode: Mode): Decision {
    const { policy, key } = request
    const wasUsedUp = mode !== 'peek' && this.#decideUnlessEvicted(request, now, 'peek').remaining === 0
    const decision = this.#decideUnlessEvicted(request, now, mode)
    if (!wasUsedUp || decision.allowed) return decision
    this.#blocks.add(policy.name, key, policy.blockForUs, now)
    return blockedDecision(decision, policy.blockForUs)
  }

  #decideUnlessEvicted(request: TakeRequest, now: number, mode: Mode): Decision {
    const { policy, key, cost } = request
    const slot = this.#table.find(policy.name, key)
    if (slot === 0) {
      assertKey(key)
      const end = this.#evictedKeys.endOf(policy, key, now)
      if (end > 0) {
        const wait = end - now
        const denied = { allowed: false, remaining: 0, retryAfter: wait, resetAfter: wait }
        const decision = toDecision(policy, now, cost, denied)
        return policy.algorithm === 'concurrency' ? { ...decision, reason: 'slot' } : decision
      }
    }
    return this.#decide(request, slot, now, mode)
  }

  /** Decides a key in this slot. Slot 0 means that the key is not in the store; it is added if the state changes. */
  #decide({ policy, key, cost, id }: TakeRequest, existingSlot: number, now: number, mode: Mode): Decision {
    let slot = existingSlot
    const before = slot === 0 ? undefined : this.#rows.load(slot, now)
    const { decision, state } =
      policy.algorithm === 'concurrency'
        ? concurrency.decide(policy, before, now, mode, slotIdOf(id, mode))
        : decide(policy, before as KeyState | undefined, now, cost, mode)
    if (state !== before) {
      if (slot === 0) slot = this.#add(policy, key, now)
      this.#rows.save(slot, policy, state!)
    }
    if (!decision.allowed && mode !== 'peek' && slot !== 0) {
      // After a change of the policy's numbers, the wait can outlast the state; the recorded denial must not.
      const deniedUntil = now + msToUs(decision.retryAfterMs)
      this.#rows.setDeniedUntil(slot, Math.min(this.#rows.expiresAt(slot), deniedUntil))
    }
    return decision
  }

  #changeSlots(slots: readonly SlotRequest[], change: typeof concurrency.renew): boolean[] {
    const now = this.#clock.nowUs()
    for (const slot of slots) assertSlot(slot)
    return slots.map(({ policy, key, id }) => {
      const slot = this.#table.find(policy.name, key)
      const before = slot === 0 ? undefined : this.#rows.load(slot, now)
      if (before?.algorithm !== 'concurrency') return false
      const { held, state } = change(policy as ConcurrencyPolicy, before, now, id)
      if (state === undefined) this.#remove(slot)
      else if (state !== before) this.#rows.save(slot, policy, state)
      return held
    })
  }

  #add(policy: Policy, key: string, now: number): number {
    this.#sweep(now)
    if (this.#rows.size >= this.#maxKeys) this.#evict(now)
    const slot = this.#rows.add(policy, key)
    this.#table.add(policy.name, this.#rows.keyOf(slot), slot)
    return slot
  }

  /** Removes expired keys. Checks two slots for every new key, so it is faster than new keys can fill the store. */
  #sweep(now: number): void {
    for (let i = 0; i < SWEPT_PER_NEW_KEY; i++) {
      const slot = this.#sweptUpTo + 1 < this.#rows.end ? this.#sweptUpTo + 1 : 0
      if (this.#rows.policyOf(slot) !== undefined && this.#rows.expiresAt(slot) <= now) this.#remove(slot)
      this.#sweptUpTo = slot
    }
  }

  #evict(now: number): void {
    const victim = pickVictim(this.#rows, now)
    const { slot } = victim
    if (staysDenied(victim)) {
      // Until the state expires, not only until the denial ends: otherwise the key would restart with the full limit.
      this.#evictedKeys.add(
        this.#rows.policyOf(slot)!,
        this.#rows.keyOf(slot),
        this.#rows.expiresAt(slot),
        now,
      )
    }
    this.#remove(slot)
  }

  #remove(slot: number): void {
    this.#table.remove(this.#rows.policyOf(slot)!.name, this.#rows.keyOf(slot), slot)
    this.#rows.remove(slot)
  }
}

/** The id of the slot to decide about. Only a take needs one; a peek as part of a take has the take's id. */
function slotIdOf(id: string | undefined, mode: Mode): string | undefined {
  if (id !== undefined) assertSlotId(id)
  return mode === 'take' ? (id ?? randomId()) : id
}

/** The clock of a closed store, which makes every call throw. */
const CLOSED: Clock = {
  nowUs() {
    throw storeClosed('This memory store')
  },
}

const SWEPT_PER_NEW_KEY = 2
