import { show } from '../errors.js'
import { parseDuration } from '../units/duration.js'
import { invalidPolicy } from './invalid-policy.js'

/** The lease of a policy, with its defaults filled in. */
export interface LeaseTerms {
  /** How long leased units can be spent, in milliseconds. */
  readonly maxAge: number
  /** The fraction of the limit that all processes together can hold, above 0 and at most 1. */
  readonly share: number
}

const DEFAULT_TERMS: LeaseTerms = Object.freeze({ maxAge: 100, share: 0.05 })
const MAX_AGE_MS = 60_000
const FIELDS = ['maxAge', 'share']

/** Undefined for a policy without a lease. */
export function leaseTermsOf(value: unknown = false): LeaseTerms | undefined {
  if (value === false) return undefined
  if (value === true) return DEFAULT_TERMS
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidLease(`must be true or { maxAge, share }, got ${show(value)}`)
  }
  for (const field of Object.keys(value)) {
    if (!FIELDS.includes(field)) throw invalidLease(`has no ${show(field)}; it takes maxAge and share`)
  }
  const { maxAge = DEFAULT_TERMS.maxAge, share = DEFAULT_TERMS.share } = value as Record<string, unknown>
  const maxAgeMs = parseDuration(maxAge)
  if (maxAgeMs === undefined || !Number.isInteger(maxAgeMs) || maxAgeMs < 1 || maxAgeMs > MAX_AGE_MS) {
    throw invalidLease(`needs a maxAge of 1 ms to 60 s in whole milliseconds, got ${show(maxAge)}`)
  }
  if (typeof share !== 'number' || !(share > 0 && share <= 1)) {
    throw invalidLease(`needs a share above 0 and at most 1, got ${show(share)}`)
  }
  return Object.freeze({ maxAge: maxAgeMs, share })
}

/** A window must last at least as long as a lease. */
export function assertLeaseFitsWindow({ maxAge }: LeaseTerms, windowUs: number): void {
  if (maxAge * 1000 <= windowUs) return
  throw invalidLease(`needs a maxAge of at most the window, ${windowUs / 1000} ms, got ${maxAge} ms`)
}

/**
 * The reduced capacity of a token bucket with a lease. Spending units up to `maxAge` after they were taken adds up to
 * `rate × maxAge` units to a burst, so the capacity is reduced by as many.
 */
export function leasedCapacity({ maxAge }: LeaseTerms, capacity: number, n: number, d: number): number {
  const refilledParts = BigInt(n) * BigInt(maxAge * 1000)
  const unitsOf = (parts: bigint) => Number((parts + BigInt(d) - 1n) / BigInt(d))
  const least = Math.max(2, unitsOf(2n * refilledParts))
  if (capacity < least) {
    throw invalidLease(
      `needs a capacity of at least ${least}, twice the tokens refilled within maxAge and not below 2, got ${capacity}. Use a shorter maxAge or a larger capacity`,
    )
  }
  return capacity - unitsOf(refilledParts)
}

function invalidLease(problem: string): Error {
  return invalidPolicy(
    'lease',
    `lease ${problem}. Write for example lease: true, or lease: { maxAge: '100ms', share: 0.05 }.`,
  )
}
