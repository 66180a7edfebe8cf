import { claimName, definePolicy, type Policy } from '@tidegate/core'
import { sha256Hex } from '../keys/sha256.js'

/*
 * Unnamed policies with equal numbers must not share a count by accident. A policy of a place that has the same name in
 * every process, such as a route, is named after the place. Otherwise a generated name can have one user per store; a
 * second user is an error.
 */

/** The user of a policy: a named place such as a route, or a middleware. */
export type PolicyUse = { readonly place: string } | { readonly user: object }

/** Names a policy after its place, or reserves its generated name. Returns named policies unchanged. */
export function policyFor(use: PolicyUse, policy: Policy, store: object): Policy {
  if (policy.isNamed) return policy
  if ('place' in use) return definePolicy({ ...policy, name: nameOf(use.place, policy) })
  claimName(store, policy, use.user)
  return policy
}

/** A readable name with a hash to distinguish similar places, such as `post-login-1f0c9b2e7d3a4b5c`. */
function nameOf(place: string, policy: Policy): string {
  const words = place.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const hash = sha256Hex(`${place} ${policy.name}`).slice(0, 16)
  return `${words.replace(/^-/, '').slice(0, MAX_WORDS).replace(/-$/, '')}-${hash}`.replace(/^-/, '')
}

/** A policy name has at most 64 characters. */
const MAX_WORDS = 64 - 17
