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
 * A policy whose numbers only the service knows. Stores need a whole policy, so it gets placeholder numbers, by which
 * nothing is counted and which no caller sees.
 */

export function policyWithoutNumbers(name: string, onStoreFailure: OnStoreFailure = 'open'): Policy {
  if (onStoreFailure === 'local') {
    const message = `onStoreFailure 'local' counts in this process and needs the policy's numbers. Write the policy with them, for example policy: fixedWindow({ limit: 100, window: '1m', name: '${name}' }).`
    throw optionInvalid('onStoreFailure', message)
  }
  return fixedWindow({ limit: 10 ** 15 - 1, window: '1s', name, onStoreFailure })
}

/**
 * Wraps a store and hides the placeholder numbers: a decision made without the service has the last known limit, or 0.
 * Under overload decisions are counted locally, which is impossible here: they become denials, because a flood must
 * not be a way around the limit.
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
