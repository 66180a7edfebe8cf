import {
  type Decision,
  fixedWindow,
  type OnStoreFailure,
  type Policy,
  type Store,
  TidegateError,
} from '@tidegate/core'

/*
 * A policy of which only the name is known here: its numbers are the service's. Stores and what is put around
 * them want a whole policy, so it is given numbers that nothing is counted by, and that nobody is shown.
 */

export function policyWithoutNumbers(name: string, onStoreFailure: OnStoreFailure = 'open'): Policy {
  if (onStoreFailure === 'local') {
    const message = `'local' counts in this process, and needs numbers for that. Write the policy with them, for example policy: fixedWindow({ limit: 100, window: '1m', name: '${name}' }).`
    throw new TidegateError('OPTION_INVALID', message, { field: 'onStoreFailure' })
  }
  return fixedWindow({ limit: 1_000_000_000, window: '1s', name, onStoreFailure })
}

/**
 * Puts something around a store, and sees to it that no answer that was given without the store has those
 * numbers in it: its limit is the last that the store has told, or 0. Nor is it one that was counted by them:
 * with too much in flight `open` means to count, which cannot be done here, and a flood must not open the gate.
 */
export function withoutNumbers(store: Store, around: (store: Store) => Store): Store {
  const told = new WeakSet<Decision>()
  let limit = 0

  function note(decision: Decision): Decision {
    told.add(decision)
    limit = decision.limit
    return decision
  }
  function see(decision: Decision): Decision {
    if (told.has(decision)) return decision
    return decision.degraded === 'local' ? { ...decision, ...REFUSED, limit } : { ...decision, limit }
  }

  const outer = around({
    ...store,
    check: async (request) => note(await store.check(request)),
    peek: async (request) => note(await store.peek(request)),
  })
  return {
    ...outer,
    check: async (request) => see(await outer.check(request)),
    peek: async (request) => see(await outer.peek(request)),
  }
}

const REFUSED = {
  allowed: false,
  remaining: 0,
  retryAfterMs: 1000,
  resetAfterMs: 0,
  degraded: 'closed',
} as const satisfies Partial<Decision>
