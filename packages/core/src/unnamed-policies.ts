import { sharedByCopies } from './copies.js'
import { TidegateError } from './errors.js'
import type { Policy } from './policy.js'

/*
 * A store keeps counts by policy name. Two unnamed policies with equal numbers have equal names, so each generated
 * name may have only one user per store.
 */

/**
 * Reserves the generated name of an unnamed policy on a store. `user` is the limiter or middleware that counts by the
 * policy. Throws `POLICY_UNNAMED` if another user has the name; named policies are shared on purpose.
 */
export function claimName(store: object, policy: Policy, user: object): void {
  if (policy.isNamed) return
  const users = usersOf(store)
  const other = users.get(policy.name)
  if (other === undefined) users.set(policy.name, user)
  else if (other !== user) throw unnamed(policy)
}

/** Makes a store and the wrapper around it one place for names. */
export function shareNames(store: object, wrapper: object): void {
  namesByStore.set(wrapper, usersOf(store))
}

/** For each store, the user of each generated name. */
const namesByStore = sharedByCopies('policy names', () => new WeakMap<object, Map<string, object>>())

function usersOf(store: object): Map<string, object> {
  let users = namesByStore.get(store)
  if (users === undefined) {
    users = new Map()
    namesByStore.set(store, users)
  }
  return users
}

function unnamed({ algorithm, name }: Policy): TidegateError {
  return new TidegateError(
    'POLICY_UNNAMED',
    `Two limits on one store use a ${algorithm} policy with equal numbers and without a name (${name}), so they would share one count. Give each policy a name, for example name: 'login'. To share one count on purpose, give both the same name, or use one limiter for both.`,
    { field: 'name' },
  )
}
