import { decide, type KeyState, refund } from '../algorithms/decide.js'
import { type Clock, msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type Policy } from '../policy.js'
import { assertCost, assertRefund, limitsOf, takeResult } from '../store/requests.js'
import type { RefundRequest, ResetRequest, SyncStore, TakeRequest, WholeTakeResult } from '../store/store.js'

/**
 * The plainest store there can be: the pure functions and a `Map` that never forgets. Too slow and too
 * hungry to use; just right to compare another store with.
 */
export class ReferenceStore implements SyncStore {
  readonly traits = { kind: 'in-process' } as const
  readonly #clock: Clock
  readonly #states = new Map<string, { algorithm: string; known: KeyState | undefined }>()
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
    const looks = limits.map((limit) => decide(limit.policy, this.#known(limit), now, limit.cost, 'peek'))
    const allowed = looks.every(({ decision }) => decision.allowed)
    const decisions = limits.map((limit) => {
      const mode = allowed ? 'take' : 'repair'
      const { decision, state } = decide(limit.policy, this.#known(limit), now, limit.cost, mode)
      if (allowed || this.#known(limit) !== undefined) this.#keep(limit, state)
      return decision
    })
    return takeResult(asked, decisions, allowed)
  }

  peek({ policy, key, cost }: TakeRequest): Decision {
    const known = this.#known({ policy, key })
    assertCost(policy, cost)
    return decide(policy, known, this.#clock.nowUs(), cost, 'peek').decision
  }

  refund(request: RefundRequest): number {
    assertRefund(request)
    const { policy, key, timeMs, cost } = request
    const known = this.#known({ policy, key })
    const { given, state } = refund(policy, known, this.#clock.nowUs(), msToUs(timeMs), cost)
    if (given > 0) this.#keep({ policy, key }, state)
    return given
  }

  reset(request: ResetRequest): void {
    this.#known(request)
    this.#states.delete(nameOf(request))
  }

  close(): void {
    this.#closed = true
  }

  #known({ policy, key }: { policy: Policy; key: string }): KeyState | undefined {
    if (this.#closed) throw new TidegateError('STORE_FAILED', 'This store is closed; make a new one.')
    assertPolicy(policy)
    assertKey(key)
    const entry = this.#states.get(nameOf({ policy, key }))
    return entry?.algorithm === policy.algorithm ? entry.known : undefined
  }

  #keep({ policy, key }: { policy: Policy; key: string }, known: KeyState | undefined): void {
    this.#states.set(nameOf({ policy, key }), { algorithm: policy.algorithm, known })
  }
}

function nameOf({ policy, key }: { policy: Policy; key: string }): string {
  return `${policy.name}:${key}`
}
