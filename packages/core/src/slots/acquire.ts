import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import type { Policy } from '../policy/index.js'
import type { FullStore } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { randomId } from '../store/random-id.js'
import {
  isPromise,
  type MaybePromise,
  type Store,
  type TakeRequest,
  type TakeResult,
} from '../store/store.js'
import { type AcquiredSlot, type HeldSlots, holdSlots } from './held-slots.js'
import { type Renewals, renewals } from './renewals.js'

/** The decision about a slot. If it is allowed, the slot is held until it is released. */
export interface Slot extends Decision, HeldSlots {
  readonly id: string
  /**
   * The fallback that decided. For a held slot also set while the store does not respond to its renewals, unless the policy
   * is `closed`.
   */
  readonly degraded?: 'open' | 'closed' | 'local'
}

/** The result of `takeAndHold`. If it is allowed, its slots are held until they are released. */
export interface HeldTake extends TakeResult, HeldSlots {}

/** Acquires a slot of the policy, and renews it until it is released. */
export function acquire(
  store: Store,
  policy: Policy,
  key: string,
  renewedBy: Renewals = renewals,
): MaybePromise<Slot> {
  assertConcurrency(policy)
  assertOperation(store, 'renew')
  assertOperation(store, 'release')
  const id = randomId()
  const sentMs = renewedBy.now()
  const toSlot = (decision: Decision): Slot => {
    const slot = { ...decision, id }
    const held = hold(store, [{ policy, key }], [slot], sentMs, renewedBy)
    return withHandle(slot, held)
  }
  const decision = store.check({ policy, key, cost: 1, id })
  return isPromise(decision) ? decision.then(toSlot) : toSlot(decision)
}

/**
 * Takes from every limit or from none, like `store.take`, and renews the slots of concurrency policies until they are
 * released.
 */
export async function takeAndHold(store: Store, requests: readonly TakeRequest[]): Promise<HeldTake> {
  const copies = Array.isArray(requests) ? requests.map((request) => ({ ...request })) : requests
  if (copies.some(({ policy }) => policy?.algorithm === 'concurrency')) {
    assertOperation(store, 'renew')
    assertOperation(store, 'release')
  }
  const sentMs = renewals.now()
  const result = await store.take(requests)
  const decisions = result.decisions.map((decision) => decision && { ...decision })
  const held = hold(store, copies, decisions, sentMs, renewals)
  return withHandle({ ...result, decisions }, held)
}

/** Holds the slots of these decisions. Only decisions that took a slot have an id. */
function hold(
  store: Store,
  requests: readonly Pick<TakeRequest, 'policy' | 'key'>[],
  decisions: readonly (Decision | undefined)[],
  sentMs: number,
  renewedBy: Renewals,
): HeldSlots {
  const slots = new Map<string, AcquiredSlot>()
  for (const [i, decision] of decisions.entries()) {
    const { policy, key } = requests[i]!
    if (policy.algorithm !== 'concurrency' || !isTaken(decision)) continue
    const { id, degraded, resetAfterMs } = decision
    // A service decides by its own ttl, which is the wait until the last slot expires. It must be renewed in time.
    const ttlMs = Math.min(policy.ttl, resetAfterMs || policy.ttl)
    const onDegraded = (mode: Decision['degraded']) => markDegraded(decision, mode)
    // Requests of one policy and key share a slot.
    slots.set(id, { request: { policy, key, id, degraded }, ttlMs, onDegraded })
  }
  return holdSlots([...slots.values()], { store: store as FullStore, renewals: renewedBy, sentMs })
}

function isTaken(decision: Decision | undefined): decision is Decision & { id: string } {
  if (decision?.allowed !== true || decision.id === undefined) return false
  return decision.degraded === undefined || decision.degraded === 'local'
}

function markDegraded(decision: Decision, mode: Decision['degraded']): void {
  const marked = decision as { degraded?: Decision['degraded'] }
  if (mode === undefined) delete marked.degraded
  else marked.degraded = mode
}

/** Adds the handle to the same object, whose `degraded` can still change. The signal is created when it is first read. */
function withHandle<T extends object>(result: T, held: HeldSlots): T & HeldSlots {
  return Object.defineProperties(result, Object.getOwnPropertyDescriptors(held)) as T & HeldSlots
}

function assertConcurrency(policy: Policy): void {
  if (policy.algorithm === 'concurrency') return
  throw new TidegateError(
    'OPERATION_UNSUPPORTED',
    `acquire needs a concurrency policy, got the ${policy.algorithm} policy "${policy.name}". Use check, or a policy such as concurrency({ limit: 10 }).`,
    { field: 'policy' },
  )
}
