import { type Mode, toDecision } from '../algorithms/algorithm.js'
import { decide, refund } from '../algorithms/index.js'
import { type Clock, msToUs, systemClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { assertOptions, show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type Policy } from '../policy.js'
import { assertCost, assertRefund, limitsOf, takeResult } from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'
import { storeClosed } from '../store/store-error.js'
import { BlockedKeys } from './blocked-keys.js'
import { isBlocked, pickVictim } from './eviction.js'
import { KeyTable } from './key-table.js'
import { Rows } from './rows.js'

export interface MemoryStoreOptions {
  /** The clock that decisions are made by. Default: the machine's clock. */
  clock?: Clock
  /** The maximum number of keys, over all policies. Default: 1,000,000. */
  maxKeys?: number
}

/**
 * Keeps state in this process, in bounded memory and without timers. Each new key removes a few expired ones; a full
 * store evicts the keys that lose least. A blocked key stays denied when it is evicted.
 */
export class MemoryStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  #clock: Clock
  readonly #maxKeys: number
  #rows = new Rows()
  #table = new KeyTable(this.#rows)
  /** The evicted keys that must stay denied. */
  #blockedKeys: BlockedKeys
  /** The policy that was validated last, since most calls in a row use the same one. At first, none. */
  #lastPolicy: object = {}
  #sweptUpTo = 0

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
    this.#blockedKeys = new BlockedKeys(maxKeys)
  }

  /** The number of keys in the store. */
  get size(): number {
    return this.#rows.size
  }

  check(request: TakeRequest): Decision {
    return this.#decideUnlessBlocked(request, this.#clock.nowUs(), 'take')
  }

  take(requests: readonly TakeRequest[]): WholeTakeResult {
    const now = this.#clock.nowUs()
    const asked = limitsOf(requests)
    const { limits } = asked
    // Look at every limit before the first is charged.
    const looks = limits.map((limit) => this.#decideUnlessBlocked(limit, now, 'peek'))
    const allowed = looks.every((look) => look.allowed)
    const decisions = limits.map((limit) =>
      // Once all are allowed, charge all: charging the first can evict and block the next.
      allowed
        ? this.#decide(limit, this.#table.find(limit.policy.name, limit.key), now, 'take')
        : this.#decideUnlessBlocked(limit, now, 'repair'),
    )
    return takeResult(asked, decisions, allowed)
  }

  peek(request: TakeRequest): Decision {
    return this.#decideUnlessBlocked(request, this.#clock.nowUs(), 'peek')
  }

  refund(request: RefundRequest): number {
    const now = this.#clock.nowUs()
    assertRefund(request)
    const { policy, key, timeMs, cost } = request
    const slot = this.#table.find(policy.name, key)
    const before = slot === 0 ? undefined : this.#rows.load(slot, now)
    const { given, state } = refund(policy, before, now, msToUs(timeMs), cost)
    if (given > 0 && state === undefined) this.#remove(slot)
    else if (given > 0) this.#rows.save(slot, policy, state!)
    return given
  }

  reset({ policy, key }: ResetRequest): void {
    this.#clock.nowUs()
    assertPolicy(policy)
    assertKey(key)
    const slot = this.#table.find(policy.name, key)
    if (slot !== 0) this.#remove(slot)
    this.#blockedKeys.remove(policy.name, key)
  }

  close(): void {
    this.#clock = CLOSED
    this.#rows = new Rows()
    this.#table = new KeyTable(this.#rows)
    this.#blockedKeys = new BlockedKeys(this.#maxKeys)
  }

  #decideUnlessBlocked(request: TakeRequest, now: number, mode: Mode): Decision {
    const { policy, key, cost } = request
    if (policy !== this.#lastPolicy) {
      assertPolicy(policy)
      this.#lastPolicy = policy
    }
    if (cost !== 1) assertCost(policy, cost)
    const slot = this.#table.find(policy.name, key)
    if (slot === 0) {
      assertKey(key)
      const blockEnd = this.#blockedKeys.endOf(policy, key, now)
      if (blockEnd > 0) {
        const wait = blockEnd - now
        return toDecision(policy, now, cost, {
          allowed: false,
          remaining: 0,
          retryAfter: wait,
          resetAfter: wait,
        })
      }
    }
    return this.#decide(request, slot, now, mode)
  }

  /** Decides for a key in this slot. Slot 0: the key is not in the store, and is added if the state changes. */
  #decide({ policy, key, cost }: TakeRequest, found: number, now: number, mode: Mode): Decision {
    let slot = found
    const before = slot === 0 ? undefined : this.#rows.load(slot, now)
    const { decision, state } = decide(policy, before, now, cost, mode)
    if (state !== before) {
      if (slot === 0) slot = this.#add(policy, key, now)
      this.#rows.save(slot, policy, state!)
    }
    if (!decision.allowed && mode !== 'peek' && slot !== 0) {
      // The wait can be longer than the state lasts if the policy's numbers changed; the denial is not.
      const deniedUntil = now + msToUs(decision.retryAfterMs)
      this.#rows.setDeniedUntil(slot, Math.min(this.#rows.expiresAt(slot), deniedUntil))
    }
    return decision
  }

  #add(policy: Policy, key: string, now: number): number {
    this.#sweep(now)
    if (this.#rows.size >= this.#maxKeys) this.#evict(now)
    const slot = this.#rows.add(policy, key)
    this.#table.add(policy.name, this.#rows.keyOf(slot), slot)
    return slot
  }

  /** Removes expired keys, looking at two slots for every new key: faster than new keys can fill the store. */
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
    if (isBlocked(victim)) {
      // Blocked until the state expires, not only until the denial ends: the key would start again with the full limit.
      this.#blockedKeys.add(
        this.#rows.policyOf(slot)!.name,
        this.#rows.keyOf(slot),
        this.#rows.expiresAt(slot),
      )
    }
    this.#remove(slot)
  }

  #remove(slot: number): void {
    this.#table.remove(this.#rows.policyOf(slot)!.name, this.#rows.keyOf(slot), slot)
    this.#rows.remove(slot)
  }
}

/** The clock of a closed store: every call reads the clock first. */
const CLOSED: Clock = {
  nowUs() {
    throw storeClosed('This memory store')
  },
}

const MAX_MAX_KEYS = 1_000_000_000
const SWEPT_PER_NEW_KEY = 2
