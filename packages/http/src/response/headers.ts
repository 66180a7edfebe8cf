import { type Decision, optionInvalid, type Policy, show } from '@tidegate/core'
import { integer, membersOf, secondsUp } from './field-values.js'

/*
 * The rate limit headers of a response, for allowed and denied requests: one function for each standard. None of them
 * throws. A degraded decision was made without the store, so its only known number is the limit.
 */

/** A limit that the headers report. */
export interface ReportedLimit {
  readonly decision: Decision
  /** Undefined if only a remote service has the policy; the headers then have no window. */
  readonly policy?: Policy | undefined
  /** The unit of the limit, `qu` of drafts 8 and 10: lower-case letters, digits and `-`. Default: requests. */
  readonly unit?: string | undefined
}

export const STANDARDS = ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-10'] as const

export type Standard = (typeof STANDARDS)[number]

/**
 * The headers of these standards, `Retry-After` for a denied request, `X-RateLimit-Degraded`, and `X-RateLimit-Leased` if
 * at least one limit was decided from a lease.
 */
export function rateLimitHeaders(limits: readonly ReportedLimit[], standards: readonly Standard[]): Fields {
  return withCanonicalNames(lowerCaseHeaders(limits, standards))
}

/** The same with lower-case names, which servers set faster. */
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

/** The value of a header that an outer limiter has already set. Lists are joined; otherwise the inner value wins. */
export function joinHeader(outer: unknown, inner: string): string {
  return typeof outer === 'string' && isList(outer) && isList(inner) ? `${outer}, ${inner}` : inner
}

/**
 * The headers of outer limiters to remove when these are set. A degraded limiter has no numbers, so the numbers of other
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
 * `X-RateLimit-Limit`, `-Remaining`, and `-Reset` in Unix seconds by the store's clock. Not a standard; GitHub's form:
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function legacyHeaders(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeLegacy, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06 */
export function draft6Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft6, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07 */
export function draft7Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft7, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-08 */
export function draft8Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft8, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10 */
export function draft10Headers(limits: readonly ReportedLimit[]): Fields {
  return fieldsBy(writeDraft10, limits)
}

/**
 * The value of `Retry-After` (RFC 9110): whole seconds, rounded up, at least 1; 0 if the decision allows. A slot can be
 * free at any time, so a request that found none may try again after a second.
 */
export function retryAfterSeconds(decision: Decision): number {
  if (decision.allowed) return 0
  return decision.reason === 'slot' ? 1 : Math.max(1, secondsUp(decision.retryAfterMs) || 1)
}

/** `Retry-After` for several limits: the longest wait of the denying ones; 0 if all of them allow. */
export function longestWait(limits: readonly ReportedLimit[]): number {
  let longest = 0
  for (const { decision } of limits) longest = Math.max(longest, retryAfterSeconds(decision))
  return longest
}

/** Rejects standards that cannot be sent together: drafts 6 and 7 write `RateLimit-Policy` unlike 8 and 10. */
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
    problem = 'has drafts that write RateLimit-Policy differently'
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
  const shown = mostRestrictive(limits)
  const { decision } = shown
  fields['x-ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['x-ratelimit-remaining'] = integer(decision.remaining)
  fields['x-ratelimit-reset'] = integer(secondsUp(decision.timeMs, resetAfterMs(shown)))
}

function writeDraft6(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0) return
  const shown = mostRestrictive(limits)
  const { decision } = shown
  fields['ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['ratelimit-remaining'] = integer(decision.remaining)
  fields['ratelimit-reset'] = integer(secondsUntilMore(shown))
  fields['ratelimit-policy'] = listOf(limits, ({ policy, decision }) => membersOf(policy, decision).numbered)
}

function writeDraft7(fields: Fields, limits: readonly ReportedLimit[], isDegraded: boolean): void {
  if (limits.length === 0 || isDegraded) return
  const shown = mostRestrictive(limits)
  const { decision } = shown
  const [limit, remaining, reset] = [decision.limit, decision.remaining, secondsUntilMore(shown)].map(integer)
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

/** The limit to report where only one fits: the denying one with the longest wait, else the one nearest to its limit. */
export function mostRestrictive(limits: readonly ReportedLimit[]): ReportedLimit {
  let result = limits[0]!
  for (let i = 1; i < limits.length; i++) {
    const [one, other] = [limits[i]!.decision, result.decision]
    const isTighter =
      one.allowed && other.allowed
        ? one.remaining / one.limit < other.remaining / other.limit
        : !one.allowed && (other.allowed || one.retryAfterMs > other.retryAfterMs)
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
 * The `reset` or `t` of the drafts, which must not be later than `Retry-After`: the wait until a denied request would
 * pass, or until the full limit is available again.
 */
function secondsUntilMore(limit: ReportedLimit): number {
  return limit.decision.allowed ? secondsUp(resetAfterMs(limit)) : retryAfterSeconds(limit.decision)
}

/** A slot can be free at any time: its expiry, which the decision has, is only an upper bound. */
function resetAfterMs({ policy, decision }: ReportedLimit): number {
  return policy?.algorithm === 'concurrency' ? Math.min(1000, decision.resetAfterMs) : decision.resetAfterMs
}

/** The list of all limits, without repeated entries. */
function listOf(limits: readonly ReportedLimit[], format: (limit: ReportedLimit) => string): string {
  if (limits.length === 1) return format(limits[0]!)
  return [...new Set(limits.map(format))].join(', ')
}
