import { expect, it } from 'vitest'
import { logRange, powersOfTen } from './log-scale.js'

it.each([
  [0.02, 0.4, 0.01, 1],
  [0.02, 1, 0.01, 1],
  [5, 5, 1, 10],
  [null, null, 0.01, 1],
])('the scale of values from %s to %s starts at %d and has room above %d', (min, max, low, high) => {
  const [from, to] = logRange(min, max)
  expect(from).toBeCloseTo(low)
  expect(to).toBeGreaterThan(high)
  expect(to).toBeLessThan(2 * high)
  expect(powersOfTen(from, to).at(-1)).toBeCloseTo(high)
})
