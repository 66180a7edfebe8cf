import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_ARRIVALS, TRAFFIC_KINDS } from '../../simulation/arrivals.js'
import { lanesOf, windowStartsOf } from '../../simulation/scenario.js'
import { usedIn } from '../../simulation/state.js'
import { countUpTo } from '../../simulation/times.js'
import {
  CELLS,
  COMPARE_WINDOWS,
  type CompareSettings,
  NUMBERS,
  readSettings,
  STARTS,
  scenarioOf,
  writeSettings,
} from './compare-settings.js'

const numbers = Object.fromEntries(
  Object.entries(NUMBERS).map(([name, { min, max }]) => [name, fc.integer({ min, max })]),
)
const settings = fc.record({
  ...numbers,
  traffic: fc.constantFrom(...TRAFFIC_KINDS),
  window: fc.constantFrom(...COMPARE_WINDOWS),
  start: fc.constantFrom(...STARTS),
  timeZone: fc.constantFrom('UTC', 'Asia/Seoul', 'America/New_York'),
  countDenied: fc.boolean(),
  cells: fc.array(fc.integer({ min: 0, max: 99 }), { minLength: CELLS, maxLength: CELLS }),
}) as unknown as fc.Arbitrary<CompareSettings>

describe('the settings of Compare', () => {
  it('are the same after writing and reading the address', () => {
    fc.assert(
      fc.property(settings, (written) => {
        const { cells, ...read } = readSettings(writeSettings(written))
        const { cells: writtenCells, ...rest } = written
        expect(read).toStrictEqual(rest)
        if (written.traffic === 'drawn') expect(cells).toStrictEqual(writtenCells)
      }),
      { seed: 8, endOnFailure: true },
    )
  })

  it('leave the address empty by default', () => {
    expect(writeSettings(readSettings(new Map()))).toStrictEqual(new Map())
  })

  it('fall back to the defaults for any invalid text', () => {
    const defaults = readSettings(new Map())
    const names = [...Object.keys(NUMBERS), 'window', 'traffic', 'cells', 'start', 'timeZone', 'countDenied']
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string({ unit: 'binary' }), (name, text) => {
        fc.pre(!/^\d/.test(text))
        expect(readSettings(new Map([[name, text]]))).toStrictEqual(defaults)
      }),
      { seed: 8, endOnFailure: true },
    )
  })

  it('produce ordered arrivals within the axis, at most MAX_ARRIVALS', () => {
    fc.assert(
      fc.property(settings, (written) => {
        const { arrivals, spanMs } = scenarioOf(written)
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
] as const)('%s produces the configured number of requests', (traffic, changes, expected) => {
  const written = { ...readSettings(new Map()), traffic, ...changes }
  expect(scenarioOf(written).arrivals).toHaveLength(expected)
})

it.each([
  ['steady', { rate: 1000, windows: 6 }, 6000, false],
  ['bursts', { size: 500, every: 50, windows: 6 }, 6000, false],
  ['bursts', { size: 500, every: 45, windows: 6 }, 6000, true],
] as const)(
  '%s traffic of %j has its first %d requests; isCut is %s',
  (traffic, changes, expected, isCut) => {
    const scenario = scenarioOf({ ...readSettings(new Map()), traffic, ...changes })
    expect(scenario.arrivals).toHaveLength(expected)
    expect(scenario.isCut).toBe(isCut)
  },
)

it('the boundary attack passes twice the limit through the fixed window, whatever the limit', () => {
  for (const limit of [1, 20, 200]) {
    const scenario = scenarioOf({ ...readSettings(new Map()), limit })
    const [fixed] = lanesOf(scenario)
    expect(fixed?.run.admittedMs).toHaveLength(2 * limit)
  }
})

it('addresses without the newer options keep their policies', () => {
  const { policies } = scenarioOf(readSettings(new Map([['window', '1h']])))
  const [fixed, log] = policies
  expect(fixed).toMatchObject({ windowKind: 'epoch', countDenied: false, blockForUs: 0 })
  expect(log).toMatchObject({ window: 3_600_000, countDenied: false, blockForUs: 0 })
})

it('a window from the first request stops the boundary attack', () => {
  const scenario = scenarioOf({ ...readSettings(new Map()), start: 'first-request' })
  const [fixed] = lanesOf(scenario)
  expect(fixed?.run.admittedMs).toHaveLength(20)
})

it.each(['day', 'week', 'month'] as const)(
  'the boundary attack on a calendar %s is at a boundary of the time zone',
  (window) => {
    const timeZone = 'Asia/Seoul'
    const scenario = scenarioOf({ ...readSettings(new Map()), window, timeZone })
    const lanes = lanesOf(scenario)
    expect(lanes[0]?.run.admittedMs).toHaveLength(40)
    expect(lanes[1]?.run.admittedMs).toHaveLength(20)
    const [start, next] = windowStartsOf(scenario, lanes[0]!)
    expect(start).toBe(0)
    const hour = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' })
    expect(hour.format(scenario.originMs + next!)).toBe('00')
  },
)

it('denied requests count in the three window policies, and every policy blocks', () => {
  const { policies } = scenarioOf({ ...readSettings(new Map()), countDenied: true, block: 50 })
  expect(policies.map(({ countDenied }) => countDenied)).toStrictEqual([true, true, true, false, false])
  expect(policies.map(({ blockFor }) => blockFor)).toStrictEqual(new Array(5).fill(30_000))
})

it('random traffic depends on the seed and has the configured rate', () => {
  const of = (seed: number) =>
    scenarioOf({ ...readSettings(new Map()), traffic: 'random', rate: 500, windows: 6, seed }).arrivals
  expect(of(3)).toStrictEqual(of(3))
  expect(of(3)).not.toStrictEqual(of(4))
  expect(Math.abs(of(3).length - 3000)).toBeLessThan(300)
})

it('Compare opens where the algorithms differ: at the last request, with state in every limiter', () => {
  const scenario = scenarioOf(readSettings(new Map()))
  const { opensAtMs = scenario.spanMs } = scenario
  const runs = lanesOf(scenario).map(({ run }) => run)
  expect(opensAtMs).toBeLessThan(scenario.spanMs / 2)
  expect(runs.every(({ stateAt }) => usedIn(stateAt(opensAtMs)) > 0)).toBe(true)
  const allowed = runs.map(({ admittedMs }) => countUpTo(admittedMs, opensAtMs))
  expect(new Set(allowed).size).toBeGreaterThan(3)
})
