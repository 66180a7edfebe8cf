import { type Decision, optionInvalid, type Policy, show } from '@tidegate/core'
import { integer, membersOf, secondsUp } from './field-values.js'

/*
 * The rate limit headers of a response, with one function for each standard. They never throw. A degraded decision was made
 * without the store, so only its limit is reported.
 */

/** A limit that the headers report. */
export interface ReportedLimit {
  readonly decision: Decision
  /** Undefined if only a remote service has the policy; the headers then have no window. */
  readonly policy?: Policy | undefined
  /** The unit of the limit, `qu` of drafts 8 and 10: lower-case letters, digits and `-`. Default: requests. */
  readonly unit?: string | undefined
}

/** The supported standards of rate limit headers. */
export const STANDARDS = ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-10'] as const

/** A standard of rate limit headers: `legacy` for `X-RateLimit-*`, or an IETF draft. */
export type Standard = (typeof STANDARDS)[number]

/**
 * Returns the headers of these standards, plus `Retry-After` for a denied request, `X-RateLimit-Degraded` for a degraded
 * decision, and `X-RateLimit-Leased` if a limit was decided from a lease.
 *
 * @example
 * ```ts
 * const headers = rateLimitHeaders([{ decision, policy }], ['legacy', 'draft-10'])
 * ```
 */
export function rateLimitHeaders(limits: readonly ReportedLimit[], standards: readonly Standard[]): Fields {
  return withCanonicalNames(lowerCaseHeaders(limits, standards))
}

/** Like `rateLimitHeaders`, but with lower-case names, which servers set faster. */
export function lowerCaseHeaders(limits: readonly ReportedLimit[], standards: readonly Standard[]): Fields {
  const fields: Fields = {}
  const degraded = degradedOf(limits)
  for (const standard of standards) WRITERS[standard](fields, limits, degraded !== undefined)
  if (degraded !== undefined) {
    fields['x-ratelimit-limit'] = integer(mostRestrictive(limits).decision.limit)
    fields['x-ratelimit-degraded'] = degraded
  }
  if (limits.some(({ decision }) => decision.leased)) fields['x-ratelimit-leased'] = 'true'
  const wait = longestWait(limits)
  if (wait > 0) fields['retry-after'] = integer(wait)
  return fields
}

/** Merges a header of an outer and an inner limiter. Lists are joined; otherwise the inner value is used. */
export function joinHeader(outer: unknown, inner: string): string {
  return typeof outer === 'string' && isList(outer) && isList(inner) ? `${outer}, ${inner}` : inner
}

/**
 * The headers of outer limiters to remove when these headers are set. A degraded limiter has no numbers, so those of other
 * limiters would look like its own.
 */
export function staleHeaders(inner: Readonly<Fields>): readonly string[] {
  return inner['x-ratelimit-degraded'] === undefined ? NONE : NUMBERS
}

const NONE: readonly string[] = []
const NUMBERS = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-remaining', 'ratelimit-reset']

/** Only drafts 8 and 10 have lists, and these begin with the name of a policy. */
function isList(field: string): boolean {
  return field[0] === '"'
}

/**
 * Returns `X-RateLimit-Limit`, `-Remaining`, and `-Reset` in Unix seconds by the store's clock. Not a standard, but the
 * form of GitHub: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function legacyHeaders(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeLegacy, limits)
}

/** Returns the headers of https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06 */
export function draft6Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft6, limits)
}

/** Returns the headers of https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07 */
export function draft7Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft7, limits)
}

/** Returns the headers of https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-08 */
export function draft8Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft8, limits)
}

/** Returns the headers of https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10 */
export function draft10Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft10, limits)
}

/**
 * Returns the value of `Retry-After` (RFC 9110): whole seconds, rounded up, at least 1; 0 if the request is allowed. For a
 * missing slot it is 1, because a slot can be released at any time.
 */
export function retryAfterSeconds(decision: Decision): number {
  if (decision.allowed) return 0
  return decision.reason === 'slot' ? 1 : Math.max(1, secondsUp(decision.retryAfterMs) || 1)
}

/** `Retry-After` for several limits: the longest wait of the denials; 0 if all limits allow. */
export function longestWait(limits: readonly ReportedLimit[]): number {
  let longest = 0
  for (const { decision } of limits) longest = Math.max(longest, retryAfterSeconds(decision))
  return longest
}

/** Throws `OPTION_INVALID` for unknown standards, and for drafts with different formats of `RateLimit-Policy`. */
export function assertStandards(value: unknown): asserts value is readonly Standard[] {
  const list: unknown[] = Array.isArray(value) ? value : [value]
  const has = (...drafts: number[]) => drafts.some((draft) => list.includes(`draft-${draft}`))
  let problem: string | undefined
  if (
    !Array.isArray(value) ||
    !list.every((standard) => (STANDARDS as readonly unknown[]).includes(standard))
  ) {
    problem = `must be a list of ${STANDARDS.join(', ')}`
  } else if (has(6, 7) && has(8, 10)) {
    problem = 'must not have drafts 6 or 7 together with 8 or 10, whose RateLimit-Policy differs'
  }
  if (problem === undefined) return
  const message = `standards ${problem}, got ${show(value)}. Write for example ['legacy', 'draft-10'].`
  throw optionInvalid('standards', message)
}

type Fields = Record<string, string>
type Writer = (fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean) => void

const WRITERS: Record<Standard, Writer> = {
  legacy: writeLegacy,
  'draft-6': writeDraft6,
  'draft-7': writeDraft7,
  'draft-8': writeDraft8,
  'draft-10': writeDraft10,
}

function fieldsBy(write: Writer, limits: readonly ReportedLimit[]): Fields {
  const fields: Fields = {}
  write(fields, limits, degradedOf(limits) !== undefined)
  return withCanonicalNames(fields)
}

function withCanonicalNames(fields: Fields): Fields {
  const renamed: Fields = {}
  for (const name in fields) renamed[CANONICAL_NAMES[name] ?? name] = fields[name]!
  return renamed
}

const CANONICAL_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'X-RateLimit-Degraded',
    'X-RateLimit-Leased',
    'RateLimit',
    'RateLimit-Policy',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'Retry-After',
  ].map((name) => [name.toLowerCase(), name]),
)

function writeLegacy(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0) return
  const reported = mostRestrictive(limits)
  const { decision } = reported
  fields['x-ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['x-ratelimit-remaining'] = integer(decision.remaining)
  fields['x-ratelimit-reset'] = integer(secondsUp(decision.timeMs, resetAfterMs(reported)))
}

function writeDraft6(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0) return
  const reported = mostRestrictive(limits)
  const { decision } = reported
  fields['ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['ratelimit-remaining'] = integer(decision.remaining)
  fields['ratelimit-reset'] = integer(secondsUntilMore(reported))
  fields['ratelimit-policy'] = listOf(limits, ({ policy, decision }) => membersOf(policy, decision).numbered)
}

function writeDraft7(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0 || isDegraded) return
  const reported = mostRestrictive(limits)
  const { decision } = reported
  const [limit, remaining, reset] = [decision.limit, decision.remaining, secondsUntilMore(reported)].map(
    integer,
  )
  fields.ratelimit = `limit=${limit}, remaining=${remaining}, reset=${reset}`
  fields['ratelimit-policy'] = listOf(limits, ({ policy, decision }) => membersOf(policy, decision).numbered)
}

function writeDraft8(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0 || isDegraded) return
  if (limits.length === 1) {
    fields.ratelimit = quotaLeft(limits[0]!)
    fields['ratelimit-policy'] = quota(limits[0]!)
    return
  }
  fields.ratelimit = listOf(limits, quotaLeft)
  fields['ratelimit-policy'] = listOf(limits, quota)
}

function quota({ policy, decision, unit }: ReportedLimit): string {
  const { named } = membersOf(policy, decision)
  return unit === undefined ? named : `${named};qu="${unit}"`
}

function quotaLeft(limit: ReportedLimit): string {
  const { policy, decision } = limit
  const { name } = membersOf(policy, decision)
  return `${name};r=${integer(decision.remaining)};t=${integer(secondsUntilMore(limit))}`
}

function writeDraft10(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  // These fields have not changed since draft 8.
  writeDraft8(fields, limits, isDegraded)
}

/** The limit for headers with a single limit: the denial with the longest wait, else the smallest remaining part. */
export function mostRestrictive(limits: readonly ReportedLimit[]): ReportedLimit {
  let result = limits[0]!
  for (let i = 1; i < limits.length; i++) {
    const [candidate, current] = [limits[i]!.decision, result.decision]
    const isTighter =
      candidate.allowed && current.allowed
        ? candidate.remaining / candidate.limit < current.remaining / current.limit
        : !candidate.allowed && (current.allowed || candidate.retryAfterMs > current.retryAfterMs)
    if (isTighter) result = limits[i]!
  }
  return result
}

/** The strictest fallback among the decisions; undefined while the store is available. */
function degradedOf(limits: readonly ReportedLimit[]): Decision['degraded'] {
  let strictest: Decision['degraded']
  for (const { decision } of limits) {
    const { degraded } = decision
    if (degraded === 'closed') return degraded
    if (degraded !== undefined && strictest !== 'local') strictest = degraded
  }
  return strictest
}

/**
 * The `reset` or `t` of the drafts: the wait until a denied request would pass, because it must not be later than
 * `Retry-After`, else the wait until the full limit is available.
 */
function secondsUntilMore(limit: ReportedLimit): number {
  return limit.decision.allowed ? secondsUp(resetAfterMs(limit)) : retryAfterSeconds(limit.decision)
}

/** At most a second for slots: the decision has their expiry, but they can be released at any time. */
function resetAfterMs({ policy, decision }: ReportedLimit): number {
  return policy?.algorithm === 'concurrency' ? Math.min(1000, decision.resetAfterMs) : decision.resetAfterMs
}

/** The list of all limits, without repeated entries. */
function listOf(limits: readonly ReportedLimit[], format: (limit: ReportedLimit) => string): string {
  if (limits.length === 1) return format(limits[0]!)
  return [...new Set(limits.map(format))].join(', ')
}
