import {
  assertSlot,
  type Call,
  type Decision,
  type FullStore,
  type SlotRequest,
  type TakeRequest,
} from '@tidegate/core'
import type { Operate } from './operations.js'
import { failed } from './service.js'
import { decisionIn, errorOf } from './service-response.js'

/** The operations of the remote store on slots. */
export interface RemoteSlots extends Pick<FullStore, 'release' | 'renew'> {
  acquire(request: TakeRequest & { id: string }, call?: Call): Promise<Decision>
}

export function createRemoteSlots(operate: Operate, assertOpen: () => void): RemoteSlots {
  /** One result for each slot; undefined if the store of the service was unavailable. */
  async function changeAll(
    operation: 'release' | 'renew',
    done: 'released' | 'renewed',
    slots: readonly SlotRequest[],
    call: Call | undefined,
  ): Promise<(boolean | undefined)[]> {
    for (const slot of slots) assertSlot(slot)
    assertOpen()
    const json = { slots: slots.map(({ policy, key, id }) => ({ key, policy: policy.name, id })) }
    const response = await operate(operation, json, call)
    if (response.status !== 200) throw errorOf(response)
    const { results } = response.body
    if (!Array.isArray(results) || results.length !== slots.length)
      throw failed('its response does not have one result for each slot')
    return results.map((result) => (typeof result?.[done] === 'boolean' ? result[done] : undefined))
  }

  return {
    async acquire(request, call) {
      assertSlot(request)
      assertOpen()
      const { policy, key, id } = request
      const response = await operate('acquire', { key, policy: policy.name, id }, call)
      const decision = decisionIn(response, request)
      // Without an id in the response, the service has decided without its store, and no slot is held.
      return response.body.id === id ? { ...decision, id } : decision
    },

    async release(slots, call) {
      const results = await changeAll('release', 'released', slots, call)
      return results.map((result) => {
        if (result === undefined) throw failed('its store is unavailable')
        return result
      })
    },

    renew: (slots, call) => changeAll('renew', 'renewed', slots, call),
  }
}
