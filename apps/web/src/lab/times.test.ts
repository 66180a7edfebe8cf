import { expect, it } from 'vitest'
import { countPerBin, countUpTo, worstWindow } from './times.js'

it.each([
  [[], 5, 0],
  [[1, 2, 2, 3], 0.9, 0],
  [[1, 2, 2, 3], 2, 3],
  [[1, 2, 2, 3], 9, 4],
])('of %j, up to %d there are %d', (times, at, expected) => {
  expect(countUpTo(times, at)).toBe(expected)
})

it('a bin has its start and not its end, and nothing beyond the axis is counted', () => {
  expect(countPerBin([0, 9.999, 10, 39.999, 40, 50], 40, 4)).toStrictEqual([2, 1, 0, 1])
})

it.each([
  ['nothing', [], { count: 0, fromMs: 0 }],
  ['what is one window apart', [0, 1000], { count: 1, fromMs: 0 }],
  ['what is a microsecond less apart', [0, 999.999], { count: 2, fromMs: 0 }],
  ['the second of two heaps', [0, 1, 5000, 5001, 5002], { count: 3, fromMs: 5000 }],
  ['the first of two as full', [0, 600, 900, 1500, 3000], { count: 3, fromMs: 0 }],
])('the worst window of %s', (_title, times, expected) => {
  expect(worstWindow(times, 1000)).toStrictEqual(expected)
})
