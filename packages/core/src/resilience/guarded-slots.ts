import type { FullStore, SlotRequest } from '../store/full-store.js'
import { assertOperation } from '../store/operations.js'
import { randomId } from '../store/random-id.js'
import { assertSlot } from '../store/requests.js'
import type { Call, MaybePromise, ResetRequest, Store, StoreTraits, TakeRequest } from '../store/store.js'
import { isFailureOf } from '../store/store-error.js'
import type { LocalCounts } from './local-counts.js'

export interface GuardedSlotsOptions {
  store: Store
  /** Makes one guarded call. Rejects if the store fails, must not be called, or does not respond in time. */
  callStore<T>(requests: readonly ResetRequest[], send: (call: Call) => MaybePromise<T>): Promise<T>
  counts: LocalCounts
  partOf: StoreTraits['partOf']
  /** Milliseconds of a clock that never steps back. */
  now: () => number
}

/** Releases and renews slots of a store that can fail. */
export function createGuardedSlots({ store, callStore, counts, partOf, now }: GuardedSlotsOptions) {
  /** Groups slots by their part of the store, so that a failing part affects only its own slots. */
  function byPart(slots: readonly SlotRequest[]): SlotRequest[][] {
    const groups = new Map<string | undefined, SlotRequest[]>()
    for (const slot of slots) {
      const part = partOf?.(slot)
      const group = groups.get(part)
      if (group === undefined) groups.set(part, [slot])
      else group.push(slot)
    }
    return [...groups.values()]
  }

  /** The slots that are in the store, which those of a degraded decision are not. */
  function inStore(slots: readonly SlotRequest[]): SlotRequest[] {
    for (const slot of slots) assertSlot(slot)
    return slots.filter(({ degraded }) => degraded === undefined)
  }

  function slotStore(): Pick<FullStore, 'release' | 'renew'> {
    assertOperation(store, 'renew')
    assertOperation(store, 'release')
    return store
  }

  return {
    /** Adds an id to a request, so that its slot can be released if the store does not respond. */
    withId(request: TakeRequest): TakeRequest {
      // Reject a store without slots before it is called.
      slotStore()
      return { ...request, id: request.id ?? randomId() }
    },

    /** Releases the slots of a failed call, because the store may have executed it, or may execute it late. */
    releaseUnanswered(requests: readonly TakeRequest[], error: unknown): void {
      const slots: SlotRequest[] = []
      let ttlMs = 0
      for (const { policy, key, id } of requests) {
        if (policy?.algorithm !== 'concurrency' || id === undefined) continue
        slots.push({ policy, key, id })
        ttlMs = Math.max(ttlMs, policy.ttl)
      }
      if (slots.length === 0 || NOT_SENT_CAUSES.some((cause) => isFailureOf(error, cause))) return
      const endMs = now() + ttlMs
      const call: Call = {
        // The release waits for a connection for as long as the slots can exist.
        get abandoned() {
          return now() >= endMs
        },
      }
      void (async () => slotStore().release(slots, call))().catch(() => {})
    },

    async release(slots: readonly SlotRequest[]): Promise<boolean[]> {
      const results = new Map<SlotRequest, boolean>()
      const groups = byPart(inStore(slots))
      for (const slot of slots) if (slot.degraded === 'local') results.set(slot, counts.release(slot))
      await Promise.all(
        groups.map(async (group) => {
          const released = await callStore(group, (call) => slotStore().release(group, call))
          for (const [i, slot] of group.entries()) results.set(slot, released[i]!)
        }),
      )
      return slots.map((slot) => results.get(slot) ?? false)
    },

    /** Rejects if no part of the store responds. */
    async renew(slots: readonly SlotRequest[]): Promise<(boolean | undefined)[]> {
      const results = new Map<SlotRequest, boolean | undefined>()
      const groups = byPart(inStore(slots))
      for (const slot of slots) if (slot.degraded !== undefined) results.set(slot, counts.renew(slot))
      const answers = await Promise.allSettled(
        groups.map(async (group) => {
          const renewed = await callStore(group, (call) => slotStore().renew(group, call))
          for (const [i, slot] of group.entries()) results.set(slot, renewed[i])
        }),
      )
      const failure = answers.find((answer) => answer.status === 'rejected')
      if (failure !== undefined && results.size === 0) throw failure.reason
      return slots.map((slot) => results.get(slot))
    },
  }
}

/** The causes of failures in which the store did not receive the call. */
const NOT_SENT_CAUSES = ['breaker-open', 'unreachable'] as const
