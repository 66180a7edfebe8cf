import { fixedWindow, slidingWindowCounter, slidingWindowLog, tokenBucket } from '@tidegate/core'
import { expect, it } from 'vitest'
import { lanesOf, type Scenario, windowStartsOf } from './scenario.js'

const DAY = 86_400_000

function startsOf(changes: Partial<Scenario>): (readonly number[])[] {
  const scenario: Scenario = {
    originMs: Date.parse('2030-01-01T00:00:00Z'),
    spanMs: 3000,
    windowMs: 1000,
    limit: 5,
    arrivals: [],
    policies: [],
    axis: 'elapsed',
    ...changes,
  }
  return lanesOf(scenario).map((lane) => windowStartsOf(scenario, lane))
}

it('aligned windows start at multiples of their length', () => {
  const policies = [fixedWindow({ limit: 5, window: '1s' })]
  expect(startsOf({ policies })).toStrictEqual([[0, 1000, 2000, 3000]])
  const originMs = Date.parse('2030-01-01T00:00:00.400Z')
  expect(startsOf({ policies, originMs })).toStrictEqual([[600, 1600, 2600]])
})

it('windows from the first request start in their own lane only', () => {
  const policies = [
    fixedWindow({ limit: 5, window: '1s', start: 'first-request' }),
    slidingWindowLog({ limit: 5, window: '1s' }),
  ]
  expect(startsOf({ policies, arrivals: [300, 400, 1700] })).toStrictEqual([
    [300, 1700],
    [0, 1000, 2000, 3000],
  ])
})

it('limiters without windows show none, unless there is a limiter with windows to compare them with', () => {
  const policies = [slidingWindowLog({ limit: 5, window: '1s' }), tokenBucket({ capacity: 5, refillRate: 5 })]
  expect(startsOf({ policies })).toStrictEqual([[], []])
  const starts = [0, 1000, 2000, 3000]
  expect(
    startsOf({ policies: [...policies, slidingWindowCounter({ limit: 5, window: '1s' })] }),
  ).toStrictEqual([starts, starts, starts])
})

it('calendar windows follow daylight saving; the counter keeps its own windows', () => {
  // Clocks in New York go forward on 10 March 2030.
  const policies = [
    fixedWindow({ limit: 5, window: 'day', timeZone: 'America/New_York' }),
    slidingWindowLog({ limit: 5, window: '1d' }),
    slidingWindowCounter({ limit: 5, window: '1d' }),
  ]
  const originMs = Date.parse('2030-03-09T05:00:00Z')
  const local = [0, DAY, DAY + 23 * 3_600_000]
  expect(startsOf({ policies, originMs, windowMs: DAY, spanMs: 2 * DAY })).toStrictEqual([
    local,
    local,
    [19 * 3_600_000, DAY + 19 * 3_600_000],
  ])
})
