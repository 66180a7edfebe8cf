import type { Decision, Policy, RatePolicy } from '@tidegate/core'

/* Numbers, names and policies as structured header fields (RFC 9651). */

/** The parts of headers that depend only on the policy, so they are formatted once. */
export interface PolicyMembers {
  /** `"per-user"` */
  readonly name: string
  /** `"per-user";q=100;w=60` */
  readonly named: string
  /** `100;w=60` */
  readonly numbered: string
}

const membersByPolicy = new WeakMap<Policy, PolicyMembers>()

export function membersOf(policy: Policy | undefined, decision: Decision): PolicyMembers {
  if (policy === undefined) return membersByDecision(decision)
  const cached = membersByPolicy.get(policy)
  if (cached !== undefined) return cached
  const name = structuredString(policy.name)
  const numbers = `q=${integer(policy.limit)};${unitOf(policy)}`
  const members = { name, named: `${name};${numbers}`, numbered: numbers.slice('q='.length) }
  membersByPolicy.set(policy, members)
  return members
}

/** For a policy whose numbers only a service has. Its window is unknown, so it is omitted. */
function membersByDecision({ policy, limit }: Decision): PolicyMembers {
  const name = structuredString(policy)
  return { name, named: `${name};q=${integer(limit)}`, numbered: integer(limit) }
}

/** A structured integer: whole, not negative, at most 15 digits. */
export function integer(value: number): string {
  // The common case first: every response has several of these.
  if (Number.isInteger(value) && value >= 0 && value <= MAX_INTEGER) return String(value)
  return String(Math.min(MAX_INTEGER, Math.max(0, Math.floor(value) || 0)))
}

/** The sum of times in milliseconds with up to three decimals, in seconds, rounded up. */
export function secondsUp(ms: number, moreMs = 0): number {
  return Math.min(MAX_INTEGER, Math.ceil((Math.round(ms * 1000) + Math.round(moreMs * 1000)) / 1e6))
}

const MAX_INTEGER = 999_999_999_999_999

/** The window of a rate limit, or what a concurrency policy counts. */
function unitOf(policy: Policy): string {
  if (policy.algorithm === 'concurrency') return 'qu="concurrent-requests"'
  return `w=${integer(windowSeconds(policy))}`
}

/** The window, or the time to fill an empty token bucket or drain a full leaky bucket, in seconds, rounded up. */
function windowSeconds(policy: RatePolicy): number {
  if ('windowUs' in policy) return Math.ceil(policy.windowUs / 1e6)
  // `spanUs` is rounded down.
  const us = policy.full % policy.n === 0 ? policy.spanUs : policy.spanUs + 1
  return Math.max(1, Math.ceil(us / 1e6))
}

/** A quoted string: `"` and `\` are escaped, other characters than printable ASCII become `?`. */
function structuredString(text: string): string {
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
