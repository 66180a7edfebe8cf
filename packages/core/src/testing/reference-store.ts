import { decide, type KeyState, refund } from '../algorithms/index.js'
import { type Clock, msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type Policy } from '../policy.js'
import { assertCost, assertRefund, limitsOf, takeResult } from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'

/**
 * The simplest possible store: the pure functions and a `Map` that never deletes a key. Compare another store with it;
 * for production it is too slow, and its memory grows without bound.
 */
export class ReferenceStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  readonly #clock: Clock
  readonly #states = new Map<string, KeyState | undefined>()
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  check(request: TakeRequest): Decision {
    return this.take([request]).decisions[0]!
  }

  take(requests: readonly TakeRequest[]): WholeTakeResult {
    const asked = limitsOf(requests)
    const { limits } = asked
    const now = this.#clock.nowUs()
    const looks = limits.map((limit) => decide(limit.policy, this.#load(limit), now, limit.cost, 'peek'))
    const allowed = looks.every(({ decision }) => decision.allowed)
    const decisions = limits.map((limit) => {
      const mode = allowed ? 'take' : 'repair'
      const { decision, state } = decide(limit.policy, this.#load(limit), now, limit.cost, mode)
      this.#states.set(idOf(limit), state)
      return decision
    })
    return takeResult(asked, decisions, allowed)
  }

  peek({ policy, key, cost }: TakeRequest): Decision {
    const state = this.#load({ policy, key })
    assertCost(policy, cost)
    return decide(policy, state, this.#clock.nowUs(), cost, 'peek').decision
  }

  refund(request: RefundRequest): number {
    assertRefund(request)
    const { policy, timeMs, cost } = request
    const { given, state } = refund(policy, this.#load(request), this.#clock.nowUs(), msToUs(timeMs), cost)
    this.#states.set(idOf(request), state)
    return given
  }

  reset(request: ResetRequest): void {
    this.#load(request)
    this.#states.delete(idOf(request))
  }

  close(): void {
    this.#closed = true
  }

  #load({ policy, key }: { policy: Policy; key: string }): KeyState | undefined {
    if (this.#closed) throw new TidegateError('STORE_FAILED', 'This store is closed; make a new one.')
    assertPolicy(policy)
    assertKey(key)
    return this.#states.get(idOf({ policy, key }))
  }
}

function idOf({ policy, key }: { policy: Policy; key: string }): string {
  return `${policy.name}:${key}`
}
