import {
  type Decision,
  fixedWindow,
  type OnStoreFailure,
  type Policy,
  type Store,
  TidegateError,
} from '@tidegate/core'

/*
 * A policy whose numbers only the service knows. Stores need a whole policy, so it gets placeholder numbers, by which
 * nothing is counted and which no caller sees.
 */

export function policyWithoutNumbers(name: string, onStoreFailure: OnStoreFailure = 'open'): Policy {
  if (onStoreFailure === 'local') {
    const message = `onStoreFailure 'local' counts in this process and needs the policy's numbers. Write the policy with them, for example policy: fixedWindow({ limit: 100, window: '1m', name: '${name}' }).`
    throw new TidegateError('OPTION_INVALID', message, { field: 'onStoreFailure' })
  }
  return fixedWindow({ limit: 1_000_000_000, window: '1s', name, onStoreFailure })
}

/**
 * Wraps a store and hides the placeholder numbers: a decision made without the service has the last known limit, or 0.
 * Under overload decisions are counted locally, which is impossible here: they become denials, because a flood must
 * not open the gate.
 */
export function withoutNumbers(store: Store, around: (store: Store) => Store): Store {
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
  })
  return {
    ...outer,
    check: async (request) => hideNumbers(await outer.check(request)),
    peek: async (request) => hideNumbers(await outer.peek(request)),
  }
}

const DENIED = {
  allowed: false,
  remaining: 0,
  retryAfterMs: 1000,
  resetAfterMs: 0,
  degraded: 'closed',
} as const satisfies Partial<Decision>
