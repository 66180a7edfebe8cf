import { sharedByCopies } from './copies.js'
import { TidegateError } from './errors.js'
import { type Policy, samePace } from './policy/index.js'
import { warn } from './warn.js'

/*
 * A store keeps counts by policy name. Two unnamed policies with equal numbers have the same generated name, so each
 * generated name can have only one user per store. Written names are shared on purpose, but only policies with the same
 * algorithm and window or rate can share a count.
 */

/**
 * Reserves the generated name of an unnamed policy on a store. `user` identifies the limiter or middleware that uses the
 * policy. Throws `POLICY_UNNAMED` if another user has the name. Named policies are shared, with a warning if they have
 * different algorithms, windows or rates.
 */
export function claimName(store: object, policy: Policy, user: object): void {
  const claims = claimsOf(store)
  const claim = claims.get(policy.name)
  if (claim === undefined) {
    if (!policy.isNamed || claims.size < MAX_NAMES)
      claims.set(policy.name, { policy, user, isReported: false })
  } else if (!policy.isNamed) {
    if (claim.user !== user) throw unnamed(policy)
  } else if (!claim.isReported && !samePace(claim.policy, policy)) {
    claim.isReported = true
    warn('POLICY_SUSPICIOUS', sharedName(policy))
  }
}

/** Lets a store and its wrapper share their names. */
export function shareNames(store: object, wrapper: object): void {
  claimsByStore.set(wrapper, claimsOf(store))
}

/** The first policy with a name, and its user. */
interface Claim {
  readonly policy: Policy
  readonly user: object
  isReported: boolean
}

/** The maximum number of tracked written names, because an application may generate one per client. */
const MAX_NAMES = 1000

const claimsByStore = sharedByCopies('policy claims', () => new WeakMap<object, Map<string, Claim>>())

function claimsOf(store: object): Map<string, Claim> {
  let claims = claimsByStore.get(store)
  if (claims === undefined) {
    claims = new Map()
    claimsByStore.set(store, claims)
  }
  return claims
}

function sharedName({ name }: Policy): string {
  return `Two limits on one store are named "${name}", but have different algorithms, windows or rates. They share one count, so neither limit holds. Give each policy its own name.`
}

function unnamed({ algorithm, name }: Policy): TidegateError {
  return new TidegateError(
    'POLICY_UNNAMED',
    `Two limits on one store use a ${algorithm} policy with equal numbers and without a name (${name}), so they would share one count. Give each policy a name, for example name: 'login'. To share one count on purpose, give both the same name, or use one limiter for both.`,
    { field: 'name' },
  )
}
