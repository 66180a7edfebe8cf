import { serverTimeMs } from './retry-after.js'
import { type Member, parseMembers } from './structured-field.js'

/** The quota in the headers of a response. */
export interface Quota {
  readonly limit: number | undefined
  readonly remaining: number
  /** The time until the quota grows or is full, depending on the server. */
  readonly resetAfterMs: number
  /** The window of the limit, if the response has it. */
  readonly windowMs: number | undefined
}

/**
 * Parses the quotas in the headers of a response, using the newest standard that is valid. Malformed and incomplete headers
 * are ignored.
 */
export function quotasOf(headers: Headers, nowMs: number): Quota[] {
  for (const read of [readRateLimit, readDraft6, readLegacy]) {
    const quotas = read(headers, nowMs)
    if (quotas.length > 0) return quotas
  }
  return []
}

/** The longest wait until an exhausted quota resets; undefined if no quota is exhausted. */
export function exhaustedForMs(quotas: readonly Quota[]): number | undefined {
  const waits = quotas.filter(({ remaining }) => remaining === 0).map(({ resetAfterMs }) => resetAfterMs)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/** Parses `RateLimit: "per-user";r=50;t=30` of drafts 8 to 10, and `limit=100, remaining=50, reset=30` of draft 7. */
function readRateLimit(headers: Headers): Quota[] {
  const members = membersOf(headers, 'ratelimit')
  if (members.some(({ value }) => value !== undefined)) {
    const of = (name: string) => members.find((member) => member.name === name)?.value
    return quota(of('limit'), of('remaining'), secondsToMs(of('reset')), undefined)
  }
  const policies = membersOf(headers, 'ratelimit-policy')
  return members.flatMap(({ name, parameters }) => {
    const policy = policies.find((one) => one.name === name)?.parameters
    const windowMs = secondsToMs(policy?.get('w'))
    return quota(policy?.get('q'), parameters.get('r'), secondsToMs(parameters.get('t')), windowMs)
  })
}

function readDraft6(headers: Headers): Quota[] {
  // Before draft 6 the windows followed the limit: `100, 100;w=60`.
  const limit = membersOf(headers, 'ratelimit-limit')[0]?.name
  const remaining = headers.get('ratelimit-remaining')
  return quota(limit, remaining, secondsToMs(headers.get('ratelimit-reset')), undefined)
}

function readLegacy(headers: Headers, nowMs: number): Quota[] {
  const reset = decimal(headers.get('x-ratelimit-reset'))
  if (reset === undefined) return []
  // Servers send seconds from now, Unix seconds or Unix milliseconds, which differ by magnitude.
  const atMs = reset >= 1e12 ? reset : reset >= 1e9 ? reset * 1000 : undefined
  const resetAfterMs = atMs === undefined ? reset * 1000 : Math.max(0, atMs - serverTimeMs(headers, nowMs))
  return quota(
    headers.get('x-ratelimit-limit'),
    headers.get('x-ratelimit-remaining'),
    resetAfterMs,
    undefined,
  )
}

type Text = string | null | undefined

function quota(
  limit: Text,
  remaining: Text,
  resetAfterMs: number | undefined,
  windowMs: number | undefined,
): Quota[] {
  const left = decimal(remaining)
  if (left === undefined || resetAfterMs === undefined) return []
  return [{ limit: decimal(limit), remaining: Math.floor(left), resetAfterMs, windowMs }]
}

function membersOf(headers: Headers, name: string): Member[] {
  return parseMembers(headers.get(name) ?? '') ?? []
}

function secondsToMs(text: Text): number | undefined {
  const seconds = decimal(text)
  return seconds === undefined ? undefined : seconds * 1000
}

/** Parses a number that is not negative, with at most 15 digits. Some servers send `99.0`. */
function decimal(text: Text): number | undefined {
  return text != null && /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : undefined
}
