import { expect, it } from 'vitest'
import { formatEventRate, formatRate } from './numbers.js'

it.each([
  [0, '0'],
  [0.44, '0.4'],
  [12.4, '12'],
  [1250, '1,250'],
])('%d per second is %s', (rate, text) => {
  expect(formatRate(rate)).toBe(text)
})

it('the first event of a connection shows no rate', () => {
  expect(formatEventRate({ seconds: 0 }, 0)).toBe('–')
  expect(formatEventRate({ seconds: 1 }, 0)).toBe('0')
})
