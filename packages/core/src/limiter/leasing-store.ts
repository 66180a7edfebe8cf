import { sharedByCopies } from '../copies.js'
import { withLeases } from '../leases/index.js'
import type { Policy } from '../policy/index.js'
import { assertOperation } from '../store/operations.js'
import type { Store } from '../store/store.js'

/** Adds leases to a remote store if the policy has them. An in-process store does not need them. */
export function leasingStore(store: Store, policy: Policy): Store {
  if (policy.lease === undefined || store.traits?.kind === 'in-process' || 'leases' in store) return store
  assertOperation(store, 'takeUpTo')
  let shared = leasing.get(store)
  if (shared === undefined) {
    shared = withLeases(store)
    leasing.set(store, shared)
  }
  return shared
}

/** By the wrapped store, so that limiters on one store share the leases of its keys. */
const leasing = sharedByCopies('stores with leases', () => new WeakMap<Store, Store>())
