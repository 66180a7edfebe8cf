import { claimName, definePolicy, type Policy } from '@tidegate/core'
import { sha256Hex } from '../keys/sha256.js'

/*
 * Unnamed policies with equal numbers must not share a count by accident. Where a policy belongs to a place that has
 * the same name in every process, such as a route, the policy is named after the place. Elsewhere a generated name
 * may have one user per store, and a second user is an error.
 */

/** Where policies are used: at a place with a name, or by one middleware. */
export type PolicyUse = { readonly place: string } | { readonly user: object }

/** The policy under the name that its use gives it. Named policies stay as they are. */
export function policyFor(use: PolicyUse, policy: Policy, store: object): Policy {
  if (policy.isNamed) return policy
  if ('place' in use) return definePolicy({ ...policy, name: nameOf(use.place, policy) })
  claimName(store, policy, use.user)
  return policy
}

/** A readable name with a hash, which keeps places apart that read alike: `post-login-1f0c9b2e`. */
function nameOf(place: string, policy: Policy): string {
  const words = place.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const hash = sha256Hex(`${place} ${policy.name}`).slice(0, 16)
  return `${words.replace(/^-/, '').slice(0, MAX_WORDS).replace(/-$/, '')}-${hash}`.replace(/^-/, '')
}

/** A policy name has at most 64 characters. */
const MAX_WORDS = 64 - 17
