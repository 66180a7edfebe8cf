import {
  fixedWindow,
  parseDuration,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import {
  choiceField,
  numberField,
  readFields,
  type ValuesOf,
  writeFields,
} from '../../page/address-fields.js'
import { arrivalsOf, type Traffic } from '../../simulation/arrivals.js'
import type { Scenario } from '../../simulation/scenario.js'

/** A leaky bucket has no leases. */
export const LEASED_ALGORITHMS = [
  'fixed-window',
  'sliding-window-counter',
  'sliding-window-log',
  'token-bucket',
] as const
/** The longest lease lasts a minute. */
export const LEASE_WINDOWS = ['1s', '10s', '1m'] as const
export const LEASE_TRAFFIC = ['steady', 'ramp', 'random'] as const

export const LEASE_NUMBERS = {
  rate: numberField(1, 3000, 2000),
  seed: numberField(1, 999_999, 7),
  limit: numberField(20, 2000, 1000),
  processes: numberField(1, 8, 4),
  /** In percent of the window. At 50, a token bucket has just enough capacity. */
  maxAge: numberField(1, 50, 10),
  /** In percent of the limit. */
  share: numberField(1, 100, 5),
}
export type LeaseNumber = keyof typeof LEASE_NUMBERS

const FIELDS = {
  algorithm: choiceField(LEASED_ALGORITHMS, 'fixed-window'),
  window: choiceField(LEASE_WINDOWS, '10s'),
  traffic: choiceField(LEASE_TRAFFIC, 'ramp'),
  ...LEASE_NUMBERS,
}
/** All are in the address. */
export type LeaseSettings = ValuesOf<typeof FIELDS>

export function readLeaseSettings(params: ReadonlyMap<string, string>): LeaseSettings {
  return readFields(params, FIELDS)
}

/** The inverse of `readLeaseSettings`; default values are left out. */
export function writeLeaseSettings(settings: LeaseSettings): Map<string, string> {
  const params = new Map([['show', 'leases']])
  writeFields(params, FIELDS, settings)
  return params
}

export function maxAgeMsOf({ window, maxAge }: LeaseSettings): number {
  return ((parseDuration(window) ?? 0) * maxAge) / 100
}

export interface LeaseScenario extends Scenario {
  readonly limit: number
  /** The same numbers without a lease, and with one. */
  readonly policies: readonly [exact: RatePolicy, leased: RatePolicy]
}

const WINDOWS_SHOWN = 4
/** A multiple of every window, so that the axis starts with a window. */
const ORIGIN_MS = Date.parse('2030-01-01T00:00:00Z')

export function leaseScenarioOf(settings: LeaseSettings): LeaseScenario {
  const windowMs = parseDuration(settings.window) ?? 0
  const spanMs = windowMs * WINDOWS_SHOWN
  return {
    originMs: ORIGIN_MS,
    axis: 'elapsed',
    spanMs,
    // Early in the last window: the processes hold units, and the limit may have been reached before.
    opensAtMs: 0.8 * spanMs,
    windowMs,
    limit: settings.limit,
    ...arrivalsOf(trafficOf(settings), windowMs, spanMs),
    policies: [policyOf(settings, false), policyOf(settings, true)],
  }
}

function policyOf(settings: LeaseSettings, isLeased: boolean): RatePolicy {
  const { algorithm, limit, window, processes, share } = settings
  const lease = isLeased && { maxAge: `${maxAgeMsOf(settings)}ms` as const, share: share / 100 }
  const options = { limit, window, lease, instances: processes }
  switch (algorithm) {
    case 'fixed-window':
      return fixedWindow(options)
    case 'sliding-window-counter':
      return slidingWindowCounter(options)
    case 'sliding-window-log':
      return slidingWindowLog(options)
    case 'token-bucket':
      return tokenBucket({ capacity: limit, refillRate: `${limit}/${window}`, lease, instances: processes })
  }
}

function trafficOf({ traffic, rate, seed }: LeaseSettings): Traffic {
  return traffic === 'random' ? { kind: traffic, perWindow: rate, seed } : { kind: traffic, perWindow: rate }
}
