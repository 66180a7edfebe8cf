import { show, TidegateError, unknownName } from '../errors.js'
import { assertKey } from '../key.js'
import { assertPolicy, type RatePolicy } from '../policy/index.js'
import type { ReserveOptions } from '../store/full-store.js'
import { randomId } from '../store/random-id.js'
import type { ResetRequest, TakeRequest } from '../store/store.js'
import { parseDuration } from '../units/duration.js'

/** One limit of a reserve. */
export interface ReserveLimit {
  readonly policy: RatePolicy
  readonly key: string
  /** The units that are requested. */
  readonly units: number
  /** The units to charge: the requested ones, at most the limit. */
  readonly cost: number
}

/** One limit of a settlement, with its actual units. */
export interface SettleLimit {
  readonly policy: RatePolicy
  readonly key: string
  readonly actual: number
}

/** A validated reserve with its defaults. It is a copy, because the caller can change the list in the meantime. */
export interface Reserve {
  readonly limits: readonly ReserveLimit[]
  readonly id: string
  readonly ttlMs: number
  readonly maxOpen: number
}

/** Validates a reserve and fills in its defaults. Throws `RESERVATION_INVALID` if it is invalid. */
export function parseReserve(requests: readonly TakeRequest[], options: ReserveOptions = {}): Reserve {
  if (typeof options !== 'object' || options === null) {
    throw invalid('options', `options must be an object such as { ttl: '10m' }, got ${show(options)}.`)
  }
  for (const field of Object.keys(options)) {
    if (OPTIONS.includes(field)) continue
    throw invalid(field, `reserve has no option ${unknownName(field, OPTIONS)}.`)
  }
  const { id = randomId(), ttl = DEFAULT_TTL_MS, maxOpen = MAX_OPEN } = options
  assertId(id)
  const ttlMs = parseDuration(ttl)
  if (ttlMs === undefined || !Number.isInteger(ttlMs) || ttlMs < MIN_TTL_MS || ttlMs > MAX_TTL_MS) {
    throw invalid(
      'ttl',
      `ttl must be 1 s to 1 d in whole milliseconds, got ${show(ttl)}. Write for example '10m'.`,
    )
  }
  if (!Number.isInteger(maxOpen) || maxOpen < 1 || maxOpen > MAX_OPEN) {
    throw invalid(
      'maxOpen',
      `maxOpen must be a whole number from 1 to ${MAX_OPEN}, got ${show(maxOpen)}. Leave it out for ${MAX_OPEN}.`,
    )
  }
  return { limits: limitsOf(requests), id, ttlMs, maxOpen }
}

/** Validates a settlement and returns a copy of its limits. Throws `RESERVATION_INVALID` if it is invalid. */
export function parseSettle(
  requests: readonly ResetRequest[],
  id: unknown,
  actual: readonly number[],
): SettleLimit[] {
  assertId(id)
  assertList(requests)
  if (!Array.isArray(actual) || actual.length !== requests.length) {
    throw invalid(
      'actual',
      `actual must be a list with one number per request, got ${show(actual)}. Write for example [42].`,
    )
  }
  const limits = requests.map(({ policy, key }, i) => {
    assertReservable(policy)
    assertKey(key)
    assertActual(policy, actual[i])
    return { policy, key, actual: actual[i] as number }
  })
  assertEachOnce(limits)
  return limits
}

/** Throws unless units can be reserved under this policy. */
export function assertReservable(policy: unknown): asserts policy is RatePolicy {
  assertPolicy(policy)
  if (policy.algorithm !== 'leaky-bucket' && policy.algorithm !== 'concurrency') return
  throw invalid(
    'policy',
    `Units cannot be reserved under a ${policy.algorithm} policy ("${policy.name}"). Use a token bucket or a window.`,
  )
}

/** Throws unless the id is 1 to 128 printable ASCII characters without spaces. */
function assertId(id: unknown): asserts id is string {
  if (typeof id === 'string' && ID.test(id)) return
  throw invalid(
    'id',
    `id must be 1 to 128 printable ASCII characters without spaces, got ${show(id)}. Write for example id: 'job-42', or leave it out for a random one.`,
  )
}

const OPTIONS = ['id', 'ttl', 'maxOpen']
const ID = /^[\x21-\x7e]{1,128}$/
const MIN_TTL_MS = 1000
const MAX_TTL_MS = 86_400_000
const DEFAULT_TTL_MS = 600_000
const MAX_OPEN = 1000
const MAX_LIMITS = 1000

function limitsOf(requests: readonly TakeRequest[]): ReserveLimit[] {
  assertList(requests)
  const limits = requests.map(({ policy, key, cost }) => {
    assertReservable(policy)
    assertKey(key)
    if (!Number.isSafeInteger(cost) || cost < 1) {
      throw invalid('cost', `The units to reserve must be a whole number of at least 1, got ${show(cost)}.`)
    }
    return { policy, key, units: cost, cost: Math.min(cost, policy.limit) }
  })
  assertEachOnce(limits)
  return limits
}

function assertList(requests: unknown): asserts requests is readonly object[] {
  if (
    Array.isArray(requests) &&
    requests.length > 0 &&
    requests.length <= MAX_LIMITS &&
    requests.every((request) => typeof request === 'object' && request !== null)
  )
    return
  throw invalid(
    'requests',
    `requests must be a list of 1 to ${MAX_LIMITS} requests such as [{ policy, key: 'user:123', cost: 5 }], got ${show(requests)}.`,
  )
}

function assertEachOnce(limits: readonly { policy: RatePolicy; key: string }[]): void {
  const names = new Set<string>()
  for (const { policy, key } of limits) {
    const name = `${policy.name}:${key}`
    if (names.has(name)) {
      throw invalid(
        'requests',
        `requests must not have the policy "${policy.name}" and the key ${show(key)} twice. Add up their units.`,
      )
    }
    names.add(name)
  }
}

function assertActual(policy: RatePolicy, actual: unknown): void {
  const max = policy.algorithm === 'fixed-window' ? 10 ** 15 - 1 : 10 ** 9
  if (typeof actual === 'number' && Number.isInteger(actual) && actual >= 0 && actual <= max) return
  throw invalid(
    'actual',
    `actual must be a whole number from 0 to ${max.toLocaleString('en')}, got ${show(actual)}.`,
  )
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('RESERVATION_INVALID', message, { field })
}
