import type { Decision } from '../decision.js'
import { show, TidegateError } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, assertRatePolicy, type Policy, type RatePolicy, sameNumbers } from '../policy/index.js'
import { MAX_DURATION_MS } from '../units/duration.js'
import type { BlockRequest, SlotRequest, TakeUpToRequest } from './full-store.js'
import { randomId } from './random-id.js'
import type { RefundRequest, TakeRequest, TakeResult, WholeTakeResult } from './store.js'

/** Throws `COST_INVALID` or `COST_ABOVE_LIMIT` if the cost is invalid for this policy. */
export function assertCost(policy: Policy, cost: unknown): asserts cost is number {
  if (typeof cost !== 'number' || !Number.isInteger(cost) || cost < 1) {
    const message = `cost must be a whole number of at least 1, got ${show(cost)}. Write for example cost: 1.`
    throw new TidegateError('COST_INVALID', message, { field: 'cost' })
  }
  if (policy.algorithm === 'concurrency' && cost !== 1) {
    const message = `cost must be 1 for the concurrency policy "${policy.name}", because a request holds one slot, got ${cost}. Write cost: 1.`
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

/** Throws `CHARGE_INVALID` if the units cannot be charged. They can exceed the policy's limit. */
export function assertCharge(policy: Policy, units: unknown): asserts units is number {
  const max = policy.algorithm === 'fixed-window' ? MAX_FIXED_WINDOW_CHARGE : MAX_CHARGE
  if (typeof units === 'number' && Number.isInteger(units) && units >= 1 && units <= max) return
  throw new TidegateError(
    'CHARGE_INVALID',
    `The units to charge must be a whole number from 1 to ${max.toLocaleString('en')}, got ${show(units)}.`,
    { field: 'cost' },
  )
}

/** Throws `BLOCK_INVALID` if the duration of a block is invalid. */
export function assertBlock({ policy, key, durationMs }: BlockRequest): void {
  assertPolicy(policy)
  assertKey(key)
  if (Number.isFinite(durationMs) && durationMs >= 1 && durationMs <= MAX_DURATION_MS) return
  throw new TidegateError(
    'BLOCK_INVALID',
    `The duration of a block must be 1 ms to 366 d, got ${show(durationMs)} ms. Write for example '15m'.`,
    { field: 'duration' },
  )
}

/** Validates a request of `takeUpTo` and returns its policy. */
export function assertTakeUpTo({ policy, key, min, max, divisor }: TakeUpToRequest): RatePolicy {
  assertPolicy(policy)
  assertRatePolicy(policy, 'takeUpTo')
  if (policy.algorithm === 'leaky-bucket') {
    const message = `takeUpTo is not available for the leaky bucket "${policy.name}", whose requests have individual delays. Use check.`
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

/** Throws `SLOT_INVALID` if the request does not identify a slot of a concurrency policy. */
export function assertSlot({ policy, key, id }: SlotRequest): void {
  assertPolicy(policy)
  assertKey(key)
  assertSlotId(id)
  if (policy.algorithm === 'concurrency') return
  const message = `Slots need a concurrency policy, got the ${policy.algorithm} policy "${policy.name}". Use for example concurrency({ limit: 10 }).`
  throw new TidegateError('SLOT_INVALID', message, { field: 'policy' })
}

/** Throws `SLOT_INVALID` if the id of a slot is not 1 to 128 characters of well-formed Unicode. */
export function assertSlotId(id: unknown): asserts id is string {
  // Redis would store all lone surrogates as the same character, so different ids would share a slot.
  if (typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_LENGTH && !LONE_SURROGATE.test(id))
    return
  const message = `The id of a slot must be a string of 1 to ${MAX_ID_LENGTH} characters of well-formed Unicode, got ${show(id)}. Use the id of the decision that acquired the slot.`
  throw new TidegateError('SLOT_INVALID', message, { field: 'id' })
}

const MAX_ID_LENGTH = 128
const LONE_SURROGATE = /\p{Surrogate}/u

/** Throws `REFUND_INVALID` if the refund is invalid. The algorithm decides how many units are given back. */
export function assertRefund({ policy, key, timeMs, cost }: RefundRequest): void {
  assertPolicy(policy)
  assertKey(key)
  for (const [field, value, isValid, rule] of [
    ['timeMs', timeMs, Number.isFinite(timeMs), 'the timeMs of the decision'],
    ['cost', cost, Number.isInteger(cost) && cost >= 1, 'a whole number of at least 1'],
  ] as const) {
    if (isValid) continue
    throw new TidegateError('REFUND_INVALID', `${field} of a refund must be ${rule}, got ${show(value)}.`, {
      field,
    })
  }
}

/** One limit of a take: a policy and a key, with the total cost of its requests. */
export interface Limit {
  policy: Policy
  key: string
  cost: number
  /** The slot to acquire, for a concurrency policy. */
  id?: string | undefined
}

/** The limits of a take. They are copies, because the caller can change the list while the take is pending. */
export interface Limits {
  readonly limits: Limit[]
  /** For each request, the index of its limit. */
  readonly limitOfRequest: number[]
  /** For each request, its own cost. */
  readonly costs: number[]
}

/** Validates the requests of a take, and adds up the costs of requests with the same policy and key. */
export function limitsOf(requests: readonly TakeRequest[]): Limits {
  if (!Array.isArray(requests) || requests.length === 0) {
    throw new TidegateError(
      'TAKE_INVALID',
      `A take needs a list of at least one request, got ${show(requests)}. Write for example [{ policy, key: 'user:123', cost: 1 }].`,
    )
  }
  if (requests.length > MAX_REQUESTS) {
    const message = `A take must have at most ${MAX_REQUESTS} requests, because one atomic step decides them, got ${requests.length}. Split the take.`
    throw new TidegateError('TAKE_INVALID', message)
  }
  const limits: Limit[] = []
  const limitOfRequest: number[] = []
  const costs: number[] = []
  for (const request of requests) {
    if (typeof request !== 'object' || request === null) {
      const message = `Each request of a take must be an object such as { policy, key: 'user:123', cost: 1 }, got ${show(request)}.`
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
          `Policies in one take must have different names, got two policies named "${policy.name}" with different numbers. Give each its own name.`,
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
      // Several requests for one slot take it once.
      if (policy.algorithm !== 'concurrency') limit.cost += cost
      assertCost(policy, limit.cost)
      limitOfRequest.push(index)
    }
  }
  return { limits, limitOfRequest, costs }
}

const MAX_REQUESTS = 1000

/** Combines the decisions of the limits of a take. */
export function takeResult(limits: Limits, decisions: readonly Decision[], allowed: boolean): WholeTakeResult
/** Combines the decisions of the limits of a take. Undefined decisions are those of limits that were not checked. */
export function takeResult(
  limits: Limits,
  decisions: readonly (Decision | undefined)[],
  allowed: boolean,
): TakeResult
export function takeResult(
  { limitOfRequest, costs }: Limits,
  decisions: readonly (Decision | undefined)[],
  allowed: boolean,
): TakeResult {
  return {
    allowed,
    decisions: costs.map((cost, i) => {
      const decision = decisions[limitOfRequest[i]!]
      return decision && { ...decision, cost }
    }),
    retryAfterMs: Math.max(...decisions.map((decision) => decision?.retryAfterMs ?? 0)),
    delayMs: allowed ? Math.max(...decisions.map((decision) => decision?.delayMs ?? 0)) : 0,
  }
}
