import type { Decision } from '../decision.js'
import { show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, assertRatePolicy, type Policy, type RatePolicy, sameNumbers } from '../policy/index.js'
import { MAX_DURATION_MS } from '../units/duration.js'
import { randomId } from './random-id.js'
import type {
  BlockRequest,
  RefundRequest,
  SlotRequest,
  TakeRequest,
  TakeUpToRequest,
  WholeTakeResult,
} from './store.js'

/** Throws if the cost is invalid under this policy. */
export function assertCost(policy: Policy, cost: unknown): asserts cost is number {
  if (typeof cost !== 'number' || !Number.isInteger(cost) || cost < 1) {
    throw new TidegateError('COST_INVALID', `The cost must be a whole number from 1 up, got ${show(cost)}.`, {
      field: 'cost',
    })
  }
  if (policy.algorithm === 'concurrency' && cost !== 1) {
    const message = `A request holds one slot, so the cost of "${policy.name}" must be 1, got ${cost}.`
    throw new TidegateError('COST_INVALID', message, { field: 'cost' })
  }
  if (cost > policy.limit) {
    throw new TidegateError(
      'COST_ABOVE_LIMIT',
      `A cost of ${cost} can never be allowed by "${policy.name}", whose limit is ${policy.limit}. Use a lower cost, or raise the limit.`,
      { field: 'cost' },
    )
  }
}

const MAX_CHARGE = 1_000_000_000
const MAX_FIXED_WINDOW_CHARGE = 10 ** 15 - 1

/** Throws if the units cannot be charged under this policy. They may be more than the limit. */
export function assertCharge(policy: Policy, units: unknown): asserts units is number {
  const max = policy.algorithm === 'fixed-window' ? MAX_FIXED_WINDOW_CHARGE : MAX_CHARGE
  if (typeof units === 'number' && Number.isInteger(units) && units >= 1 && units <= max) return
  throw new TidegateError(
    'CHARGE_INVALID',
    `A charge must be a whole number from 1 to ${max.toLocaleString('en')} units, got ${show(units)}.`,
    { field: 'cost' },
  )
}

/** Throws if the block is invalid. */
export function assertBlock({ policy, key, durationMs }: BlockRequest): void {
  assertPolicy(policy)
  assertKey(key)
  if (Number.isFinite(durationMs) && durationMs >= 1 && durationMs <= MAX_DURATION_MS) return
  throw new TidegateError(
    'BLOCK_INVALID',
    `A block must last 1 ms to 366 d, got ${show(durationMs)} ms. Write for example '15m'.`,
    { field: 'duration' },
  )
}

/** Throws if the request is invalid. Returns its policy. */
export function assertTakeUpTo({ policy, key, min, max, divisor }: TakeUpToRequest): RatePolicy {
  assertPolicy(policy)
  assertRatePolicy(policy, 'takeUpTo')
  if (policy.algorithm === 'leaky-bucket') {
    const message = `takeUpTo is not available for the leaky bucket "${policy.name}": each of its requests has a delay of its own.`
    throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'policy' })
  }
  assertCost(policy, min)
  assertKey(key)
  for (const [field, value, from, to] of [
    ['max', max, min, policy.limit],
    ['divisor', divisor, 1, MAX_DIVISOR],
  ] as const) {
    if (Number.isInteger(value) && value >= from && value <= to) continue
    const message = `${field} must be a whole number from ${from} to ${to}, got ${show(value)}.`
    throw new TidegateError('TAKE_INVALID', message, { field })
  }
  return policy
}

const MAX_DIVISOR = 1_000_000

/** Throws if the request does not name a slot. */
export function assertSlot({ policy, key, id }: SlotRequest): void {
  assertPolicy(policy)
  assertKey(key)
  assertSlotId(id)
  if (policy.algorithm === 'concurrency') return
  const message = `Only a concurrency policy has slots; "${policy.name}" is a ${policy.algorithm} policy.`
  throw new TidegateError('SLOT_INVALID', message, { field: 'policy' })
}

export function assertSlotId(id: unknown): asserts id is string {
  // Redis would store every lone surrogate as the same character, and requests with different ids would share a slot.
  if (typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_LENGTH && !LONE_SURROGATE.test(id))
    return
  const message = `The id of a slot must be a string of 1 to ${MAX_ID_LENGTH} characters of well-formed Unicode, got ${show(id)}.`
  throw new TidegateError('SLOT_INVALID', message, { field: 'id' })
}

const MAX_ID_LENGTH = 128
const LONE_SURROGATE = /\p{Surrogate}/u

/** Throws if the refund is invalid. The algorithm decides how much of it is given. */
export function assertRefund({ policy, key, timeMs, cost }: RefundRequest): void {
  assertPolicy(policy)
  assertKey(key)
  for (const [field, value, isRight] of [
    ['timeMs', timeMs, Number.isFinite(timeMs)],
    ['cost', cost, Number.isInteger(cost) && cost >= 1],
  ] as const) {
    if (isRight) continue
    const what =
      field === 'cost' ? 'cost must be a whole number from 1 up' : "timeMs must be the decision's own"
    throw new TidegateError('REFUND_INVALID', `The refund's ${what}, got ${show(value)}.`, { field })
  }
}

/** One limit of a take: a policy and a key, with the sum of the costs of all its requests. */
export interface Limit {
  policy: Policy
  key: string
  cost: number
  /** The slot to acquire, for a concurrency policy. */
  id?: string | undefined
}

/** The limits of a take. It is a copy: the caller may change the list while the take is pending. */
export interface Limits {
  readonly limits: Limit[]
  /** For each request, the index of its limit. */
  readonly limitOfRequest: number[]
  /** For each request, its own cost. */
  readonly costs: number[]
}

export function limitsOf(requests: readonly TakeRequest[]): Limits {
  if (!Array.isArray(requests) || requests.length === 0) {
    throw new TidegateError('TAKE_INVALID', 'A take needs at least one request: [{ policy, key, cost }].')
  }
  if (requests.length > MAX_REQUESTS) {
    const message = `A take has at most ${MAX_REQUESTS} requests, got ${requests.length}: all of them are decided in one step, and other callers wait.`
    throw new TidegateError('TAKE_INVALID', message)
  }
  const limits: Limit[] = []
  const limitOfRequest: number[] = []
  const costs: number[] = []
  for (const request of requests) {
    if (typeof request !== 'object' || request === null) {
      const message = `Each request of a take is { policy, key, cost }, got ${show(request)}.`
      throw new TidegateError('TAKE_INVALID', message)
    }
    const { policy, key, cost, id } = request
    assertPolicy(policy)
    assertCost(policy, cost)
    if (id !== undefined) assertSlotId(id)
    costs.push(cost)
    let index = -1
    for (let i = 0; i < limits.length; i++) {
      const other = limits[i]!
      if (other.policy.name !== policy.name) continue
      if (!sameNumbers(other.policy, policy)) {
        throw new TidegateError(
          'TAKE_INVALID',
          `Two policies named "${policy.name}" with different numbers are in one take; give each a name of its own.`,
          { field: 'policy' },
        )
      }
      if (other.key === key) index = i
    }
    if (index < 0) {
      const limit: Limit = { policy, key, cost }
      if (policy.algorithm === 'concurrency') limit.id = id ?? randomId()
      limitOfRequest.push(limits.push(limit) - 1)
    } else {
      const limit = limits[index]!
      // One slot is enough for a request, however often it is named.
      if (policy.algorithm !== 'concurrency') limit.cost += cost
      assertCost(policy, limit.cost)
      limitOfRequest.push(index)
    }
  }
  return { limits, limitOfRequest, costs }
}

const MAX_REQUESTS = 1000

/** The result of a take, from the decisions of its limits. */
export function takeResult(
  { limitOfRequest, costs }: Limits,
  decisions: readonly Decision[],
  allowed: boolean,
): WholeTakeResult {
  return {
    allowed,
    decisions: costs.map((cost, i) => ({ ...decisions[limitOfRequest[i]!]!, cost })),
    retryAfterMs: Math.max(...decisions.map((decision) => decision.retryAfterMs)),
    delayMs: allowed ? Math.max(...decisions.map((decision) => decision.delayMs)) : 0,
  }
}
