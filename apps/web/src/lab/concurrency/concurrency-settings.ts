import { type ConcurrencyPolicy, concurrency } from '@tidegate/core'
import {
  choiceField,
  numberField,
  readFields,
  type ValuesOf,
  writeFields,
} from '../../page/address-fields.js'
import { arrivalsOf, type Traffic } from '../../simulation/arrivals.js'
import type { Scenario } from '../../simulation/scenario.js'

export const CONCURRENCY_TRAFFIC = ['steady', 'bursts', 'ramp', 'random'] as const

export const CONCURRENCY_NUMBERS = {
  /** Requests per minute. */
  rate: numberField(1, 3000, 240),
  /** Requests per burst. */
  size: numberField(1, 500, 20),
  /** Seconds between bursts. */
  every: numberField(1, 30, 10),
  seed: numberField(1, 999_999, 7),
  limit: numberField(1, 100, 10),
  /** Milliseconds that a request takes. */
  duration: numberField(100, 30_000, 2500),
}
export type ConcurrencyNumber = keyof typeof CONCURRENCY_NUMBERS

const FIELDS = { traffic: choiceField(CONCURRENCY_TRAFFIC, 'random'), ...CONCURRENCY_NUMBERS }
/** All are in the address. */
export type ConcurrencySettings = ValuesOf<typeof FIELDS>

export function readConcurrencySettings(params: ReadonlyMap<string, string>): ConcurrencySettings {
  return readFields(params, FIELDS)
}

/** The inverse of `readConcurrencySettings`; default values are left out. */
export function writeConcurrencySettings(settings: ConcurrencySettings): Map<string, string> {
  const params = new Map([['show', 'concurrency']])
  writeFields(params, FIELDS, settings)
  return params
}

export interface ConcurrencyScenario extends Scenario {
  readonly policy: ConcurrencyPolicy
  readonly durationMs: number
}

const MINUTE_MS = 60_000

export function concurrencyScenarioOf(settings: ConcurrencySettings): ConcurrencyScenario {
  const { arrivals, isCut } = arrivalsOf(trafficOf(settings), MINUTE_MS, MINUTE_MS)
  return {
    originMs: Date.parse('2030-01-01T00:00:00Z'),
    axis: 'elapsed',
    spanMs: MINUTE_MS,
    // While requests are in flight: the last one has just started.
    opensAtMs: Math.ceil(arrivals.at(-1) ?? MINUTE_MS),
    windowMs: MINUTE_MS,
    limit: undefined,
    arrivals,
    isCut,
    // Narrower bars are too small to show denied requests.
    ...((settings.traffic === 'random' || settings.traffic === 'bursts') && { binMs: 500 }),
    policies: [],
    // Longer than any request, so that slots need no renewal.
    policy: concurrency({ limit: settings.limit, ttl: '1m' }),
    durationMs: settings.duration,
  }
}

function trafficOf({ traffic, rate, seed, size, every }: ConcurrencySettings): Traffic {
  switch (traffic) {
    case 'bursts':
      return { kind: traffic, size, everyMs: every * 1000 }
    case 'random':
      return { kind: traffic, perWindow: rate, seed }
    default:
      return { kind: traffic, perWindow: rate }
  }
}

/** How many requests are in flight on average if none is denied; undefined if the rate changes. */
export function averageInFlight({ traffic, rate, duration }: ConcurrencySettings): number | undefined {
  return traffic === 'steady' || traffic === 'random' ? (rate * duration) / MINUTE_MS : undefined
}
