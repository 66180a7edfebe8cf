import {
  type Decision,
  fixedWindow,
  type OnStoreFailure,
  optionInvalid,
  type Policy,
  type ResilientStore,
} from '@tidegate/core'
import type { RemoteStore } from './remote-store.js'

/*
 * A policy whose numbers only the service has. Stores need a complete policy, so it gets placeholder numbers, which are not
 * used for counting and not visible to callers.
 */

export function policyWithoutNumbers(name: string, onStoreFailure: OnStoreFailure = 'open'): Policy {
  if (onStoreFailure === 'local') {
    const message = `onStoreFailure must not be 'local' without the policy's numbers, got the name "${name}" only. Write the policy with its numbers, for example policy: fixedWindow({ limit: 100, window: '1m', name: '${name}' }).`
    throw optionInvalid('onStoreFailure', message)
  }
  return fixedWindow({ limit: 10 ** 15 - 1, window: '1s', name, onStoreFailure })
}

/**
 * Wraps a store and hides the placeholder numbers. A decision made without the service has the last limit of the service, or
 * 0. Local decisions under overload become denials, because they cannot be counted without the numbers, and a flood must not
 * bypass the limit.
 */
export function withoutNumbers(
  store: RemoteStore,
  around: (store: RemoteStore) => ResilientStore,
): ResilientStore {
  const fromService = new WeakSet<Decision>()
  let limit = 0

  function record(decision: Decision): Decision {
    fromService.add(decision)
    limit = decision.limit
    return decision
  }
  function hideNumbers(decision: Decision): Decision {
    if (fromService.has(decision)) return decision
    return decision.degraded === 'local' ? { ...decision, ...DENIED, limit } : { ...decision, limit }
  }

  const outer = around({
    ...store,
    check: async (request, call) => record(await store.check(request, call)),
    peek: async (request, call) => record(await store.peek(request, call)),
    async reserve(requests, options, call) {
      const result = await store.reserve(requests, options, call)
      for (const decision of result.decisions) if (decision !== undefined) record(decision)
      return result
    },
  })
  return {
    ...outer,
    check: async (request) => hideNumbers(await outer.check(request)),
    peek: async (request) => hideNumbers(await outer.peek(request)),
    async reserve(requests, options) {
      const result = await outer.reserve(requests, options)
      const decisions = result.decisions.map((decision) => decision && hideNumbers(decision))
      return { ...result, decisions, allowed: decisions.every((decision) => decision?.allowed) }
    },
  }
}

const DENIED = {
  allowed: false,
  remaining: 0,
  retryAfterMs: 1000,
  resetAfterMs: 0,
  degraded: 'closed',
} as const satisfies Partial<Decision>
