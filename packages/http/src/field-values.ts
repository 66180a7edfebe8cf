import type { Decision, Policy } from '@tidegate/core'

/* How numbers, names and policies are written in header fields: the forms of RFC 9651, structured fields. */

/** What the headers say of a policy: the same in every answer, so it is written once. */
export interface PolicyMembers {
  /** `"per-user"` */
  readonly name: string
  /** `"per-user";q=100;w=60` */
  readonly named: string
  /** `100;w=60` */
  readonly numbered: string
}

const written = new WeakMap<Policy, PolicyMembers>()

export function membersOf(policy: Policy | undefined, decision: Decision): PolicyMembers {
  if (policy === undefined) return membersByDecision(decision)
  const known = written.get(policy)
  if (known !== undefined) return known
  const name = structuredString(policy.name)
  const numbers = `q=${integer(policy.limit)};w=${integer(windowSeconds(policy))}`
  const members = { name, named: `${name};${numbers}`, numbered: numbers.slice('q='.length) }
  written.set(policy, members)
  return members
}

/** Of a policy that is known elsewhere only: its window, which may be left out, is not there. */
function membersByDecision({ policy, limit }: Decision): PolicyMembers {
  const name = structuredString(policy)
  return { name, named: `${name};q=${integer(limit)}`, numbered: integer(limit) }
}

/** A count: whole, not negative, and at most 15 digits. */
export function integer(value: number): string {
  // Nearly all are: it is worth a look, because every answer has several.
  if (Number.isInteger(value) && value >= 0 && value <= MAX_INTEGER) return String(value)
  return String(Math.min(MAX_INTEGER, Math.max(0, Math.floor(value) || 0)))
}

/**
 * The sum of times in milliseconds, which are whole microseconds with three decimals, in seconds, rounded up.
 */
export function secondsUp(ms: number, moreMs = 0): number {
  return Math.min(MAX_INTEGER, Math.ceil((Math.round(ms * 1000) + Math.round(moreMs * 1000)) / 1e6))
}

const MAX_INTEGER = 999_999_999_999_999

/**
 * The window, or the time in which an empty bucket fills (a full one drains), in whole seconds, rounded up.
 */
function windowSeconds(policy: Policy): number {
  if ('windowUs' in policy) return Math.ceil(policy.windowUs / 1e6)
  // `spanUs` is rounded down.
  const us = policy.full % policy.n === 0 ? policy.spanUs : policy.spanUs + 1
  return Math.max(1, Math.ceil(us / 1e6))
}

/** In quotes, with `"` and `\` escaped, and nothing but printable ASCII. */
function structuredString(text: string): string {
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
