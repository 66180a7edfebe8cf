import {
  type FixedWindowPolicy,
  fixedWindow,
  leakyBucket,
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
import { arrivalsOf, TRAFFIC_KINDS, type Traffic } from '../../simulation/arrivals.js'
import type { Scenario } from '../../simulation/scenario.js'
import { WINDOWS } from '../../simulation/windows.js'
import { readTimeZone } from '../time-zones.js'

/** Windows that Compare can show: of a fixed length, or of the calendar. */
export const COMPARE_WINDOWS = [...WINDOWS, 'day', 'week', 'month'] as const
export const STARTS = ['epoch', 'first-request'] as const
export const CELLS = 48
export const MAX_PER_CELL = 99

export const NUMBERS = {
  limit: numberField(1, 500, 20),
  /** Capacity of the buckets; 0 means the limit. */
  capacity: numberField(0, 500, 0),
  /** How long a denied key is blocked, in percent of the window; 0 for no block. */
  block: numberField(0, 300, 0),
  /** Length of the axis in windows. */
  windows: numberField(2, 6, 4),
  /** Requests per window, for traffic that has a rate. */
  rate: numberField(1, 1000, 30),
  /** Requests per burst, and on each side of the boundary; 0 means the limit. */
  size: numberField(0, 500, 0),
  /** Time between bursts, in percent of the window. */
  every: numberField(5, 200, 50),
  /** Duration of the burst on each side of the boundary, in percent of the window. */
  lead: numberField(1, 50, 15),
  seed: numberField(1, 999_999, 7),
}
export type NumberName = keyof typeof NUMBERS

const FIELDS = {
  traffic: choiceField(TRAFFIC_KINDS, 'boundary'),
  /** Of the fixed window. For the other algorithms, a month has 31 days. */
  window: choiceField(COMPARE_WINDOWS, '1m'),
  /** Where fixed windows start; calendar windows ignore it. */
  start: choiceField(STARTS, 'epoch'),
  /** The time zone of calendar windows. */
  timeZone: { fallback: 'UTC', read: readTimeZone },
  /** Whether the three window policies count denied requests. */
  countDenied: { fallback: false, read: (text: string | undefined) => text === 'true' },
  ...NUMBERS,
}

/** The settings of Compare. All are in the address. */
export interface CompareSettings extends ValuesOf<typeof FIELDS> {
  /** Requests in each part of the axis, for drawn traffic. */
  readonly cells: readonly number[]
}

export const NO_CELLS: readonly number[] = new Array(CELLS).fill(0)

/** The initial drawing: two groups of requests, the first across a window boundary. */
const FIRST_CELLS = Array.from({ length: CELLS }, (_, i) =>
  i >= 10 && i < 14 ? 8 : i >= 30 && i < 32 ? 12 : 0,
)

export function readSettings(params: ReadonlyMap<string, string>): CompareSettings {
  return { ...readFields(params, FIELDS), cells: readCells(params.get('cells')) }
}

/** The inverse of `readSettings`; default values are left out. */
export function writeSettings(settings: CompareSettings): Map<string, string> {
  const params = new Map<string, string>()
  writeFields(params, FIELDS, settings)
  if (settings.traffic === 'drawn') params.set('cells', settings.cells.join('.'))
  return params
}

function readCells(text: string | undefined): readonly number[] {
  if (text === undefined || !/^\d{1,2}(\.\d{1,2})*$/.test(text)) return FIRST_CELLS
  const counts = text.split('.').map(Number)
  return counts.length === CELLS ? counts : FIRST_CELLS
}

export function scenarioOf(settings: CompareSettings): Scenario {
  const policies = policiesOf(settings)
  const [fixed] = policies
  const { limit, calendar } = fixed
  const windowMs = fixed.windowUs / 1000
  const spanMs = windowMs * settings.windows
  const first = calendar?.windowAt(WITHIN_FIRST_CALENDAR_WINDOW_US)
  const originMs = first === undefined ? ALIGNED_ORIGIN_MS : first.start / 1000
  const boundaryMs = first === undefined ? windowMs : first.end / 1000 - originMs
  const { arrivals, isCut } = arrivalsOf(trafficOf(settings, windowMs, boundaryMs), windowMs, spanMs)
  return {
    originMs,
    axis: 'elapsed',
    spanMs,
    // The last request, when all limiters still hold state. At the end of the axis most are empty again.
    opensAtMs: Math.ceil(arrivals.at(-1) ?? spanMs),
    windowMs,
    limit,
    arrivals,
    isCut,
    ...(settings.traffic === 'drawn' && { binMs: spanMs / CELLS }),
    policies,
  }
}

/** A multiple of every window of a fixed length, so that the axis starts with a window. */
const ALIGNED_ORIGIN_MS = Date.parse('2030-01-01T00:00:00Z')
/** The axis starts with the day, week or month of this moment. */
const WITHIN_FIRST_CALENDAR_WINDOW_US = Date.parse('2030-01-16T12:00:00Z') * 1000

/** As long as the longest window of the calendar unit. */
const LENGTHS = { day: '1d', week: '7d', month: '31d' } as const

function policiesOf(settings: CompareSettings): [FixedWindowPolicy, ...RatePolicy[]] {
  const { limit, window, start, timeZone, countDenied, block } = settings
  const length = window === 'day' || window === 'week' || window === 'month' ? LENGTHS[window] : window
  const blockMs = Math.round((block / 100) * (parseDuration(length) ?? 0))
  const blocking = block === 0 ? {} : { blockFor: `${blockMs}ms` as const }
  const windowed = { limit, window: length, countDenied, ...blocking }
  const capacity = settings.capacity === 0 ? limit : settings.capacity
  const rate = `${limit}/${length}` as const
  return [
    fixedWindow(length === window ? { ...windowed, start } : { ...windowed, window, timeZone }),
    slidingWindowLog(windowed),
    slidingWindowCounter(windowed),
    tokenBucket({ capacity, refillRate: rate, ...blocking }),
    leakyBucket({ capacity, leakRate: rate, ...blocking }),
  ]
}

function trafficOf(settings: CompareSettings, windowMs: number, boundaryMs: number): Traffic {
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
      return { kind: 'boundary', size, leadMs: (settings.lead / 100) * windowMs, boundaryMs }
    case 'drawn':
      return { kind: 'drawn', cells }
  }
}
