import { expect, it } from 'vitest'
import { countUpTo, worstWindow, worstWindowSoFar } from './times.js'

it.each([
  [[], 5, 0],
  [[1, 2, 2, 3], 0.9, 0],
  [[1, 2, 2, 3], 2, 3],
  [[1, 2, 2, 3], 9, 4],
])('countUpTo of %j at %d is %d', (times, at, expected) => {
  expect(countUpTo(times, at)).toBe(expected)
})

it.each([
  ['no requests', [], 0],
  ['two requests one window apart', [0, 1000], 1],
  ['two requests a microsecond less apart', [0, 999.999], 2],
  ['two groups', [0, 1, 5000, 5001, 5002], 3],
])('worst window of %s', (_title, times, expected) => {
  expect(worstWindow(times, 1000)).toBe(expected)
})

it('the worst window so far never looks ahead', () => {
  expect(worstWindowSoFar([0, 1, 5000, 5001, 5002, 9000], 1000)).toStrictEqual([1, 2, 2, 2, 3, 3])
})
