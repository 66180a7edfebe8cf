import { describe, expect, it } from 'vitest'
import { arrivalsOf, type Traffic } from './arrivals.js'
import { chooseBins, countPerBin } from './bins.js'
import { STORIES } from './stories.js'

it('a bin includes its start and excludes its end, and times outside are not counted', () => {
  const bins = { startMs: 0, widthMs: 10, count: 4 }
  expect(countPerBin([0, 9.999, 10, 39.999, 40, 50], bins)).toStrictEqual([2, 1, 0, 1])
})

/** The counts between the first and the last bin with requests. */
function countsOf(arrivals: readonly number[], spanMs: number): number[] {
  const counts = countPerBin(arrivals, chooseBins(arrivals, spanMs))
  return counts.slice(
    counts.findIndex((count) => count > 0),
    counts.findLastIndex((count) => count > 0) + 1,
  )
}

describe('evenly spaced requests have even bars', () => {
  it.each(['boundary', 'memory'] as const)('in the story %s', (id) => {
    const { arrivals, spanMs } = STORIES[id]().scenario
    const counts = countsOf(arrivals, spanMs)
    expect(counts.length).toBeGreaterThan(50)
    expect(new Set(counts).size).toBe(1)
  })

  it.each<[string, Traffic]>([
    ['31 a minute', { kind: 'steady', perWindow: 31 }],
    ['100 a minute', { kind: 'steady', perWindow: 100 }],
    ['1,000 a minute', { kind: 'steady', perWindow: 1000 }],
    ['a boundary attack of 20', { kind: 'boundary', size: 20, leadMs: 9000 }],
    ['a boundary attack of 500', { kind: 'boundary', size: 500, leadMs: 9000 }],
  ])('at %s', (_title, traffic) => {
    const { arrivals } = arrivalsOf(traffic, 60_000, 240_000)
    expect(new Set(countsOf(arrivals, 240_000)).size).toBe(1)
  })

  it('except for the last bar where the number of requests is prime', () => {
    const { arrivals } = arrivalsOf({ kind: 'steady', perWindow: 997 }, 60_000, 240_000)
    expect(new Set(countsOf(arrivals, 240_000).slice(0, -1)).size).toBe(1)
  })

  it.each([7, 30])('at constant distances, if there are %d a minute', (perWindow) => {
    const { arrivals } = arrivalsOf({ kind: 'steady', perWindow }, 60_000, 240_000)
    const counts = countPerBin(arrivals, chooseBins(arrivals, 240_000))
    const places = counts.flatMap((count, i) => (count > 0 ? [i] : []))
    expect(places).toHaveLength(4 * perWindow)
    expect(new Set(places.slice(1).map((place, i) => place - places[i]!)).size).toBe(1)
  })
})

it.each([
  ['the boundary story', () => STORIES.boundary().scenario, 200],
  ['the story of the idle hour', () => STORIES['idle-hour']().scenario, 30_000],
  ['the story of the estimate', () => STORIES.estimate().scenario, 1000],
  ['the story of the lazy refill', () => STORIES['lazy-refill']().scenario, 50],
  ['the story of the lost half', () => STORIES['lost-half']().scenario, 200],
  [
    'random traffic over four weeks',
    () => ({ arrivals: [1, 5, 6, 99], spanMs: 28 * 86_400_000 }),
    3 * 3_600_000,
  ],
])('%s has bars of a round length', (_title, scenarioOf, widthMs) => {
  const { arrivals, spanMs } = scenarioOf()
  expect(chooseBins(arrivals, spanMs).widthMs).toBeCloseTo(widthMs, 2)
})

it.each<[string, Traffic]>([
  ['random', { kind: 'random', perWindow: 100, seed: 7 }],
  ['a ramp', { kind: 'ramp', perWindow: 30 }],
  ['bursts', { kind: 'bursts', size: 20, everyMs: 30_000 }],
  ['none', { kind: 'bursts', size: 0, everyMs: 30_000 }],
])('every request of other traffic is in a bin: %s', (_title, traffic) => {
  const { arrivals } = arrivalsOf(traffic, 60_000, 240_000)
  const bins = chooseBins(arrivals, 240_000)
  expect(countPerBin(arrivals, bins).reduce((sum, count) => sum + count, 0)).toBe(arrivals.length)
  expect(bins.count).toBeLessThanOrEqual(242)
})
