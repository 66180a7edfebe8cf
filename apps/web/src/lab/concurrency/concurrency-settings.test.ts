import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  averageInFlight,
  CONCURRENCY_NUMBERS,
  CONCURRENCY_TRAFFIC,
  type ConcurrencySettings,
  concurrencyScenarioOf,
  readConcurrencySettings,
  writeConcurrencySettings,
} from './concurrency-settings.js'

const numbers = Object.fromEntries(
  Object.entries(CONCURRENCY_NUMBERS).map(([name, { min, max }]) => [name, fc.integer({ min, max })]),
)
const settings = fc.record({
  ...numbers,
  traffic: fc.constantFrom(...CONCURRENCY_TRAFFIC),
}) as unknown as fc.Arbitrary<ConcurrencySettings>
const defaults = readConcurrencySettings(new Map())

describe('the settings of concurrency', () => {
  it('are the same after writing and reading the address', () => {
    fc.assert(
      fc.property(settings, (written) => {
        expect(readConcurrencySettings(writeConcurrencySettings(written))).toStrictEqual({ ...written })
      }),
      { seed: 8, endOnFailure: true },
    )
  })

  it('leave only the name of the comparison in the address by default', () => {
    expect(writeConcurrencySettings(defaults)).toStrictEqual(new Map([['show', 'concurrency']]))
  })

  it('fall back to the defaults for invalid values', () => {
    const invalid = { traffic: 'drawn', limit: '0', duration: '99', rate: '1e3', every: '31' }
    expect(readConcurrencySettings(new Map(Object.entries(invalid)))).toStrictEqual(defaults)
  })
})

it.each([
  ['steady', { rate: 120 }, 120],
  ['bursts', { size: 7, every: 10 }, 42],
  ['ramp', { rate: 120 }, 60],
] as const)('%s traffic of %j has %d requests in the minute', (traffic, changes, expected) => {
  const { arrivals, durationMs } = concurrencyScenarioOf({ ...defaults, traffic, ...changes, duration: 700 })
  expect(arrivals).toHaveLength(expected)
  expect(durationMs).toBe(700)
})

it('the average in flight is the rate times the duration, for traffic with one rate', () => {
  const { limit: _, ...rest } = defaults
  const of = (traffic: ConcurrencySettings['traffic']) => averageInFlight({ ...rest, limit: 1, traffic })
  expect(CONCURRENCY_TRAFFIC.map(of)).toStrictEqual([10, undefined, undefined, 10])
})
