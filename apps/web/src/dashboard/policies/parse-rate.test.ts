import { expect, it } from 'vitest'
import { parseRate } from './parse-rate.js'

it.each([
  [10, { count: 10, periodMs: 1000 }],
  ['10000/1m', { count: 10_000, periodMs: 60_000 }],
  ['0.5/15s', { count: 0.5, periodMs: 15_000 }],
  ['many', undefined],
])('the rate %s is %j', (rate, expected) => {
  expect(parseRate(rate)).toStrictEqual(expected)
})
