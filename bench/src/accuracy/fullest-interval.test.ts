import { expect, it } from 'vitest'
import { fullestInterval } from './fullest-interval.js'

const at = (...times: number[]) => times.map((time) => ({ start: time, end: time }))

it('an interval does not contain its end', () => {
  expect(fullestInterval(at(0, 999), 1000)).toBe(2)
  expect(fullestInterval(at(0, 1000), 1000)).toBe(1)
})

it('an interval can begin anywhere', () => {
  expect(fullestInterval(at(0, 900, 950, 1000, 1800), 1000)).toBe(4)
})

it('an admission counts only if it lies in the interval as a whole', () => {
  expect(fullestInterval([{ start: 0, end: 1000 }, ...at(10)], 1000)).toBe(1)
  expect(fullestInterval([{ start: 0, end: 5 }, ...at(10)], 1000)).toBe(2)
})

it('is 0 without admissions', () => {
  expect(fullestInterval([], 1000)).toBe(0)
})
