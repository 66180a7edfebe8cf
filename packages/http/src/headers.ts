import { type Decision, type Policy, show, TidegateError } from '@tidegate/core'
import { integer, membersOf, secondsUp } from './field-values.js'

/*
 * What an answer says about the limits that it was counted by: one function for each way of saying it. They
 * hold for allowed and refused requests alike, and never fail.
 *
 * A degraded decision was made without the store and knows no number but the limit: nothing else is shown.
 */

/** One limit of an answer. */
export interface LimitShown {
  readonly decision: Decision
  /** Undefined if only the service that decided knows it; its window is not shown then. */
  readonly policy?: Policy | undefined
}

export const STANDARDS = ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-10'] as const

export type Standard = (typeof STANDARDS)[number]

/**
 * The headers of all these standards, `Retry-After` if the request is refused, and whether a store has
 * failed.
 */
export function rateLimitHeaders(limits: readonly LimitShown[], standards: readonly Standard[]): Fields {
  return asUsuallyWritten(lowerCaseHeaders(limits, standards))
}

/** The same in lower case, which is what servers look them up by: they are set faster so. */
export function lowerCaseHeaders(limits: readonly LimitShown[], standards: readonly Standard[]): Fields {
  const fields: Fields = {}
  const degraded = degradedOf(limits)
  for (const standard of standards) WRITERS[standard](fields, limits, degraded !== undefined)
  if (degraded !== undefined) {
    fields['x-ratelimit-limit'] = integer(shown(limits).decision.limit)
    fields['x-ratelimit-degraded'] = degraded
  }
  const wait = longestWait(limits)
  if (wait > 0) fields['retry-after'] = integer(wait)
  return fields
}

/**
 * What a limiter says in a field where another, further out, has said something. Limits in a list are listed one after
 * another; of all else there can be one, and the inner one's is nearer to what was asked for.
 */
export function joinField(outer: unknown, inner: string): string {
  return typeof outer === 'string' && isList(outer) && isList(inner) ? `${outer}, ${inner}` : inner
}

/**
 * Which fields of limiters further out are to go for those of this one. Who decided without a store knows no number but
 * its limit, and the others' would stand beside it as if they were its own.
 */
export function outdatedBy(inner: Readonly<Fields>): readonly string[] {
  return inner['x-ratelimit-degraded'] === undefined ? NONE : NUMBERS
}

const NONE: readonly string[] = []
const NUMBERS = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-remaining', 'ratelimit-reset']

/** Of what we write only drafts 8 and 10 have lists, and they begin with the name of a policy. */
function isList(field: string): boolean {
  return field[0] === '"'
}

/**
 * `X-RateLimit-Limit`, `-Remaining`, and `-Reset` in Unix seconds by the store's clock. No standard, but what
 * GitHub does: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
export function legacyHeaders(limits: readonly LimitShown[]): Fields {
  return fieldsBy(writeLegacy, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-06 */
export function draft6Headers(limits: readonly LimitShown[]): Fields {
  return fieldsBy(writeDraft6, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-07 */
export function draft7Headers(limits: readonly LimitShown[]): Fields {
  return fieldsBy(writeDraft7, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-08 */
export function draft8Headers(limits: readonly LimitShown[]): Fields {
  return fieldsBy(writeDraft8, limits)
}

/** https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-ratelimit-headers-10 */
export function draft10Headers(limits: readonly LimitShown[]): Fields {
  return fieldsBy(writeDraft10, limits)
}

/**
 * The value of `Retry-After` (RFC 9110): whole seconds, rounded up, at least 1; 0 for a decision that allows.
 */
export function retryAfterSeconds(decision: Decision): number {
  return decision.allowed ? 0 : Math.max(1, secondsUp(decision.retryAfterMs) || 1)
}

/** `Retry-After` for an answer with several limits: the longest wait of those that refuse; 0 if none does. */
export function longestWait(limits: readonly LimitShown[]): number {
  let longest = 0
  for (const { decision } of limits) longest = Math.max(longest, retryAfterSeconds(decision))
  return longest
}

/**
 * Refuses standards that cannot be sent together: drafts 6 and 7 write `RateLimit-Policy` unlike 8 and 10.
 */
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
  throw new TidegateError('OPTION_INVALID', message, { field: 'standards' })
}

type Fields = Record<string, string>
type Writer = (fields: Fields, limits: readonly LimitShown[], isDegraded: boolean) => void

const WRITERS: Record<Standard, Writer> = {
  legacy: writeLegacy,
  'draft-6': writeDraft6,
  'draft-7': writeDraft7,
  'draft-8': writeDraft8,
  'draft-10': writeDraft10,
}

function fieldsBy(write: Writer, limits: readonly LimitShown[]): Fields {
  const fields: Fields = {}
  write(fields, limits, degradedOf(limits) !== undefined)
  return asUsuallyWritten(fields)
}

function asUsuallyWritten(fields: Fields): Fields {
  const written: Fields = {}
  for (const name in fields) written[USUAL_NAMES[name] ?? name] = fields[name]!
  return written
}

const USUAL_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'X-RateLimit-Degraded',
    'RateLimit',
    'RateLimit-Policy',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'Retry-After',
  ].map((name) => [name.toLowerCase(), name]),
)

function writeLegacy(fields: Fields, limits: readonly LimitShown[], isDegraded: boolean): void {
  if (limits.length === 0) return
  const { decision } = shown(limits)
  fields['x-ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['x-ratelimit-remaining'] = integer(decision.remaining)
  fields['x-ratelimit-reset'] = integer(secondsUp(decision.timeMs, decision.resetAfterMs))
}

function writeDraft6(fields: Fields, limits: readonly LimitShown[], isDegraded: boolean): void {
  if (limits.length === 0) return
  const { decision } = shown(limits)
  fields['ratelimit-limit'] = integer(decision.limit)
  if (isDegraded) return
  fields['ratelimit-remaining'] = integer(decision.remaining)
  fields['ratelimit-reset'] = integer(secondsUntilMore(decision))
  fields['ratelimit-policy'] = listed(limits, ({ policy, decision }) => membersOf(policy, decision).numbered)
}

function writeDraft7(fields: Fields, limits: readonly LimitShown[], isDegraded: boolean): void {
  if (limits.length === 0 || isDegraded) return
  const { decision } = shown(limits)
  const [limit, remaining, reset] = [decision.limit, decision.remaining, secondsUntilMore(decision)].map(
    integer,
  )
  fields.ratelimit = `limit=${limit}, remaining=${remaining}, reset=${reset}`
  fields['ratelimit-policy'] = listed(limits, ({ policy, decision }) => membersOf(policy, decision).numbered)
}

function writeDraft8(fields: Fields, limits: readonly LimitShown[], isDegraded: boolean): void {
  if (limits.length === 0 || isDegraded) return
  if (limits.length === 1) {
    const { name, named } = membersOf(limits[0]!.policy, limits[0]!.decision)
    fields.ratelimit = quotaLeft(name, limits[0]!.decision)
    fields['ratelimit-policy'] = named
    return
  }
  fields.ratelimit = listed(limits, ({ policy, decision }) => {
    return quotaLeft(membersOf(policy, decision).name, decision)
  })
  fields['ratelimit-policy'] = listed(limits, ({ policy, decision }) => membersOf(policy, decision).named)
}

function quotaLeft(name: string, decision: Decision): string {
  return `${name};r=${integer(decision.remaining)};t=${integer(secondsUntilMore(decision))}`
}

function writeDraft10(fields: Fields, limits: readonly LimitShown[], isDegraded: boolean): void {
  // Nothing that we send has changed since draft 8.
  writeDraft8(fields, limits, isDegraded)
}

/**
 * The limit that stands for all where only one can: the refusing one with the longest wait, else the fullest.
 */
export function shown(limits: readonly LimitShown[]): LimitShown {
  let best = limits[0]!
  for (let i = 1; i < limits.length; i++) {
    const [one, other] = [limits[i]!.decision, best.decision]
    const isBetter =
      one.allowed && other.allowed
        ? one.remaining / one.limit < other.remaining / other.limit
        : !one.allowed && (other.allowed || one.retryAfterMs > other.retryAfterMs)
    if (isBetter) best = limits[i]!
  }
  return best
}

/** The strictest of the ways in which limits were answered without a store; undefined in normal life. */
function degradedOf(limits: readonly LimitShown[]): Decision['degraded'] {
  let strictest: Decision['degraded']
  for (const { decision } of limits) {
    const { degraded } = decision
    if (degraded === 'closed') return degraded
    if (degraded !== undefined && strictest !== 'local') strictest = degraded
  }
  return strictest
}

/**
 * What the drafts call reset, or `t`. For a client `Retry-After` wins, and should not be earlier than this:
 * so it is the wait until this request would pass if it was refused, and until everything is there again if
 * not.
 */
function secondsUntilMore(decision: Decision): number {
  return decision.allowed ? secondsUp(decision.resetAfterMs) : retryAfterSeconds(decision)
}

/** A list of what each limit has to say, once if they say the same. */
function listed(limits: readonly LimitShown[], say: (limit: LimitShown) => string): string {
  if (limits.length === 1) return say(limits[0]!)
  return [...new Set(limits.map(say))].join(', ')
}
