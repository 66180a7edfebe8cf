import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { oneOf, wholeNumber } from '../address.js'
import { arrivalsOf, TRAFFIC_KINDS, type Traffic, type TrafficKind } from './arrivals.js'
import type { Scenario } from './scenario.js'

export const WINDOWS = ['1s', '10s', '1m', '1h', '1d'] as const
export const CELLS = 48
export const MAX_PER_CELL = 99

/** What the visitor has set in Compare. Every field has a place in the address. */
export interface CompareSettings {
  readonly traffic: TrafficKind
  readonly limit: number
  readonly window: (typeof WINDOWS)[number]
  /** The buckets' capacity; 0 is the limit. */
  readonly capacity: number
  /** How many windows the axis shows. */
  readonly windows: number
  /** Requests per window, for traffic that has a rate. */
  readonly rate: number
  /** Requests per burst, and on each side of the boundary; 0 is the limit. */
  readonly size: number
  /** From burst to burst, in percent of the window. */
  readonly every: number
  /** How near the boundary, in percent of the window. */
  readonly lead: number
  readonly seed: number
  readonly cells: readonly number[]
}

export const NUMBERS = {
  limit: { min: 1, max: 500, otherwise: 20 },
  capacity: { min: 0, max: 500, otherwise: 0 },
  windows: { min: 2, max: 6, otherwise: 4 },
  rate: { min: 1, max: 1000, otherwise: 30 },
  size: { min: 0, max: 500, otherwise: 0 },
  every: { min: 5, max: 200, otherwise: 50 },
  lead: { min: 1, max: 50, otherwise: 15 },
  seed: { min: 1, max: 999_999, otherwise: 7 },
} as const
export type NumberName = keyof typeof NUMBERS
const NUMBER_NAMES = Object.keys(NUMBERS) as NumberName[]

/** Two heaps that start before a boundary: something to change, rather than an empty sheet. */
const FIRST_CELLS = Array.from({ length: CELLS }, (_, i) =>
  i >= 10 && i < 14 ? 8 : i >= 30 && i < 32 ? 12 : 0,
)

export function readSettings(params: ReadonlyMap<string, string>): CompareSettings {
  const numbers = Object.fromEntries(
    NUMBER_NAMES.map((name) => {
      const { min, max, otherwise } = NUMBERS[name]
      return [name, wholeNumber(params.get(name), min, max, otherwise)]
    }),
  ) as Record<NumberName, number>
  return {
    ...numbers,
    traffic: oneOf(params.get('traffic'), TRAFFIC_KINDS, 'boundary'),
    window: oneOf(params.get('window'), WINDOWS, '1m'),
    cells: readCells(params.get('cells')),
  }
}

/** The other way round; what is as it would be anyway is left out. */
export function writeSettings(settings: CompareSettings): Map<string, string> {
  const params = new Map<string, string>()
  if (settings.traffic !== 'boundary') params.set('traffic', settings.traffic)
  if (settings.window !== '1m') params.set('window', settings.window)
  for (const name of NUMBER_NAMES) {
    if (settings[name] !== NUMBERS[name].otherwise) params.set(name, String(settings[name]))
  }
  if (settings.traffic === 'drawn') params.set('cells', settings.cells.join('.'))
  return params
}

function readCells(text: string | undefined): readonly number[] {
  if (text === undefined || !/^\d{1,2}(\.\d{1,2})*$/.test(text)) return FIRST_CELLS
  const counts = text.split('.').map(Number)
  return counts.length === CELLS ? counts : FIRST_CELLS
}

export function scenarioOf(settings: CompareSettings): Scenario {
  const { limit, window } = settings
  const fixed = fixedWindow({ limit, window })
  const windowMs = fixed.window
  const spanMs = windowMs * settings.windows
  const capacity = settings.capacity === 0 ? limit : settings.capacity
  const rate = `${limit}/${window}` as const
  const policies: Policy[] = [
    fixed,
    slidingWindowLog({ limit, window }),
    slidingWindowCounter({ limit, window }),
    tokenBucket({ capacity, refillRate: rate }),
    leakyBucket({ capacity, leakRate: rate }),
  ]
  return {
    // A multiple of every window there is to choose, so that the axis starts with a window.
    originMs: Date.parse('2030-01-01T00:00:00Z'),
    axis: 'elapsed',
    spanMs,
    windowMs,
    limit,
    ...arrivalsOf(trafficOf(settings, windowMs), windowMs, spanMs),
    policies,
  }
}

function trafficOf(settings: CompareSettings, windowMs: number): Traffic {
  const { rate, seed, cells } = settings
  const size = settings.size === 0 ? settings.limit : settings.size
  switch (settings.traffic) {
    case 'steady':
      return { kind: 'steady', perWindow: rate }
    case 'ramp':
      return { kind: 'ramp', perWindow: rate }
    case 'random':
      return { kind: 'random', perWindow: rate, seed }
    case 'bursts':
      return { kind: 'bursts', size, everyMs: (settings.every / 100) * windowMs }
    case 'boundary':
      return { kind: 'boundary', size, leadMs: (settings.lead / 100) * windowMs }
    case 'drawn':
      return { kind: 'drawn', cells }
  }
}
