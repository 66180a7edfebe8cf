import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_ARRIVALS, TRAFFIC_KINDS } from './arrivals.js'
import {
  CELLS,
  type CompareSettings,
  NUMBERS,
  readSettings,
  scenarioOf,
  WINDOWS,
  writeSettings,
} from './compare-settings.js'
import { lanesOf } from './scenario.js'

const numbers = Object.fromEntries(
  Object.entries(NUMBERS).map(([name, { min, max }]) => [name, fc.integer({ min, max })]),
)
const settings = fc.record({
  ...numbers,
  traffic: fc.constantFrom(...TRAFFIC_KINDS),
  window: fc.constantFrom(...WINDOWS),
  cells: fc.array(fc.integer({ min: 0, max: 99 }), { minLength: CELLS, maxLength: CELLS }),
}) as unknown as fc.Arbitrary<CompareSettings>

describe('the settings of Compare', () => {
  it('come back from the address as they went in', () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { cells, ...read } = readSettings(writeSettings(given))
        const { cells: givenCells, ...rest } = given
        expect(read).toStrictEqual(rest)
        if (given.traffic === 'drawn') expect(cells).toStrictEqual(givenCells)
      }),
      { seed: 8, endOnFailure: true },
    )
  })

  it('leave the address empty while nothing is set', () => {
    expect(writeSettings(readSettings(new Map()))).toStrictEqual(new Map())
  })

  it('are read from any text at all', () => {
    const defaults = readSettings(new Map())
    const names = [...Object.keys(NUMBERS), 'window', 'traffic', 'cells']
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ unit: 'binary' }), (name, text) => {
        fc.pre(!/^\d/.test(text))
        expect(readSettings(new Map([[name, text]]))).toStrictEqual(defaults)
      }),
      { seed: 8, endOnFailure: true },
    )
  })

  it('make traffic in order, on the axis, and not more than can be drawn', () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { arrivals, spanMs } = scenarioOf(given)
        expect(arrivals.length).toBeLessThanOrEqual(MAX_ARRIVALS)
        expect(arrivals.every((at, i) => at >= (arrivals[i - 1] ?? 0) && at < spanMs)).toBe(true)
      }),
      { seed: 8, numRuns: 60, endOnFailure: true },
    )
  })
})

it.each([
  ['steady', { rate: 30, windows: 4 }, 120],
  ['bursts', { size: 20, every: 50, windows: 4 }, 160],
  ['boundary', { size: 20 }, 40],
  ['ramp', { rate: 30, windows: 4 }, 60],
] as const)('%s makes as many requests as it says', (traffic, changes, expected) => {
  const given = { ...readSettings(new Map()), traffic, ...changes }
  expect(scenarioOf(given).arrivals).toHaveLength(expected)
})

it.each([
  ['steady', { rate: 1000, windows: 6 }, 6000, false],
  ['bursts', { size: 500, every: 50, windows: 6 }, 6000, false],
  ['bursts', { size: 500, every: 45, windows: 6 }, 6000, true],
] as const)('%s of %j: the first %d, cut: %s', (traffic, changes, expected, isCut) => {
  const scenario = scenarioOf({ ...readSettings(new Map()), traffic, ...changes })
  expect(scenario.arrivals).toHaveLength(expected)
  expect(scenario.isCut).toBe(isCut)
})

it('the boundary attack is one whatever the limit: twice as many pass the fixed window', () => {
  for (const limit of [1, 20, 200]) {
    const scenario = scenarioOf({ ...readSettings(new Map()), limit })
    const [fixed] = lanesOf(scenario)
    expect(fixed?.run.admittedMs).toHaveLength(2 * limit)
  }
})

it('random traffic is the same for the same seed, another for another, and has the rate that was asked for', () => {
  const of = (seed: number) =>
    scenarioOf({ ...readSettings(new Map()), traffic: 'random', rate: 500, windows: 6, seed }).arrivals
  expect(of(3)).toStrictEqual(of(3))
  expect(of(3)).not.toStrictEqual(of(4))
  expect(Math.abs(of(3).length - 3000)).toBeLessThan(300)
})
