import type { Mode, Outcome } from '../algorithms/algorithm.js'
import * as concurrency from '../algorithms/concurrency.js'
import { decide, type KeyState, refund } from '../algorithms/index.js'
import { type Clock, msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { type Block, timeLeft } from '../memory-store/blocks.js'
import {
  assertPolicy,
  assertRatePolicy,
  type ConcurrencyPolicy,
  type Policy,
  type RatePolicy,
} from '../policy/index.js'
import { EndedIds } from '../reservations/ended-ids.js'
import { type JointReservation, jointReservationOf, settleIfHeld } from '../reservations/handle.js'
import { type KeyReservations, type ReservingStore, reserve, settle } from '../reservations/in-process.js'
import { parseReserve, parseSettle } from '../reservations/parse-reservation.js'
import { emptyRecordList } from '../reservations/record.js'
import { blockedDecision } from '../store/blocked.js'
import type {
  BlockRequest,
  ReserveOptions,
  SettleResult,
  SlotRequest,
  TakeUpToRequest,
  TakeUpToResult,
} from '../store/full-store.js'
import {
  assertBlock,
  assertCharge,
  assertCost,
  assertRefund,
  assertSlot,
  assertTakeUpTo,
  limitsOf,
  takeResult,
} from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'
import { takeUpToResult, unitsToTake } from '../store/take-up-to.js'

type State = KeyState | concurrency.ConcurrencyState

/**
 * The simplest possible store: the pure functions and a `Map` that never deletes a key. Use it to verify another store; its
 * memory grows without bound.
 */
export class ReferenceStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  readonly #clock: Clock
  readonly #states = new Map<string, State | undefined>()
  readonly #blocks = new Map<string, Block>()
  readonly #reservations = new Map<string, KeyReservations>()
  readonly #reserving: ReservingStore = {
    reservationsOf: (policy, key) => {
      const id = idOf({ policy, key })
      const found = this.#reservations.get(id) ?? { ...emptyRecordList(), ended: new EndedIds() }
      this.#reservations.set(id, found)
      return found
    },
    decide: (limit, _now, mode) => this.#decide(limit, mode),
    charge: (limit) => this.#decide(limit, 'charge'),
    load: (policy, key) => this.#load({ policy, key }) as KeyState | undefined,
    save: (policy, key, _now, state) => this.#states.set(idOf({ policy, key }), state),
  }
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  check(request: TakeRequest): Decision {
    return this.take([request]).decisions[0]!
  }

  take(requests: readonly TakeRequest[]): WholeTakeResult {
    const parsed = limitsOf(requests)
    const { limits } = parsed
    const peeks = limits.map((limit) => this.#decide(limit, 'peek'))
    const allowed = peeks.every((decision) => decision.allowed)
    const decisions = limits.map((limit) => this.#decide(limit, allowed ? 'take' : 'repair'))
    return takeResult(parsed, decisions, allowed)
  }

  peek(request: TakeRequest): Decision {
    this.#load(request)
    assertCost(request.policy, request.cost)
    return this.#decide(request, 'peek')
  }

  charge(request: TakeRequest): Decision {
    this.#load(request)
    assertCharge(request.policy, request.cost)
    return this.#decide(request, 'charge')
  }

  takeUpTo(request: TakeUpToRequest): TakeUpToResult {
    const policy = assertTakeUpTo(request)
    const { key, min } = request
    const peek = this.#decide({ policy, key, cost: min }, 'peek')
    const decision = this.#decide({ policy, key, cost: unitsToTake(peek, request) }, 'take')
    return takeUpToResult(decision, this.#load({ policy, key }) as KeyState | undefined)
  }

  block(request: BlockRequest): void {
    this.#load(request)
    assertBlock(request)
    this.#block(request, msToUs(request.durationMs))
  }

  refund(request: RefundRequest): number {
    assertRefund(request)
    const { timeMs, cost } = request
    const before = this.#load(request) as KeyState | undefined
    const { units, state } = refund(rateOf(request), before, this.#clock.nowUs(), msToUs(timeMs), cost)
    this.#states.set(idOf(request), state)
    return units
  }

  release(slots: readonly SlotRequest[]): boolean[] {
    return this.#changeSlots(slots, (_, state, now, id) => concurrency.release(state, now, id))
  }

  renew(slots: readonly SlotRequest[]): boolean[] {
    return this.#changeSlots(slots, concurrency.renew)
  }

  reset(request: ResetRequest): void {
    this.#load(request)
    this.#states.delete(idOf(request))
    this.#blocks.delete(idOf(request))
    this.#reservations.delete(idOf(request))
  }

  reserve(requests: readonly TakeRequest[], options?: ReserveOptions): JointReservation<SettleResult[]> {
    const request = parseReserve(requests, options)
    const { limits, id } = request
    const result = reserve(this.#reserving, request, this.#clock.nowUs())
    return jointReservationOf(result, limits, (actual) =>
      settleIfHeld(result, () => this.settle(limits, id, actual)),
    )
  }

  settle(requests: readonly ResetRequest[], id: string, actual: readonly number[]): SettleResult[] {
    const now = this.#clock.nowUs()
    return parseSettle(requests, id, actual).map((limit) => settle(this.#reserving, limit, id, now))
  }

  close(): void {
    this.#closed = true
  }

  /** Decides one limit. A blocked key is charged only by `charge`. */
  #decide(limit: TakeRequest, mode: Mode): Decision {
    const { policy } = limit
    const now = this.#clock.nowUs()
    const before = this.#load(limit)
    const look = decideAny(limit, before, now, 'peek').decision
    const block = this.#blocks.get(idOf(limit))
    const blockedUs = block === undefined ? 0 : timeLeft(block, now)
    const isBlocked = blockedUs > 0 && mode !== 'charge'
    const { decision, state } = decideAny(limit, before, now, isBlocked && mode === 'take' ? 'repair' : mode)
    this.#states.set(idOf(limit), state)
    if (block !== undefined && (mode === 'take' || mode === 'repair')) {
      if (!isBlocked) this.#blocks.delete(idOf(limit))
      else if (block.end - now > blockedUs) this.#block(limit, blockedUs)
    }
    if (isBlocked) return blockedDecision(decision, blockedUs)
    if (policy.blockForUs === 0 || mode === 'peek' || decision.allowed || look.remaining > 0) return decision
    this.#block(limit, policy.blockForUs)
    return blockedDecision(decision, policy.blockForUs)
  }

  #block(limit: ResetRequest, duration: number): void {
    this.#blocks.set(idOf(limit), { end: this.#clock.nowUs() + duration, duration })
  }

  #changeSlots(slots: readonly SlotRequest[], change: typeof concurrency.renew): boolean[] {
    for (const slot of slots) assertSlot(slot)
    return slots.map(({ policy, key, id }) => {
      const before = this.#load({ policy, key })
      if (before?.algorithm !== 'concurrency') return false
      const { held, state } = change(policy as ConcurrencyPolicy, before, this.#clock.nowUs(), id)
      this.#states.set(idOf({ policy, key }), state)
      return held
    })
  }

  #load({ policy, key }: { policy: Policy; key: string }): State | undefined {
    if (this.#closed) throw new TidegateError('STORE_FAILED', 'This store is closed; create a new one.')
    assertPolicy(policy)
    assertKey(key)
    return this.#states.get(idOf({ policy, key }))
  }
}

function decideAny(limit: TakeRequest, state: State | undefined, now: number, mode: Mode): Outcome<State> {
  const { policy, cost, id } = limit
  return policy.algorithm === 'concurrency'
    ? concurrency.decide(policy, state, now, mode, id)
    : decide(policy, state as KeyState | undefined, now, cost, mode)
}

function rateOf({ policy }: { policy: Policy }): RatePolicy {
  assertRatePolicy(policy, 'check')
  return policy
}

function idOf({ policy, key }: { policy: Policy; key: string }): string {
  return `${policy.name}:${key}`
}
