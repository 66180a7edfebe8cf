import { expect, it } from 'vitest'
import { formatBytes, formatClock, formatDuration, formatElapsed } from './format.js'

it.each([
  [0, '0 ms'],
  [0.001, '1 µs'],
  [250, '250 ms'],
  [1500, '1.5 s'],
  [60_000, '1 min'],
  [90_000, '90 s'],
  [3_600_000, '1 h'],
  [3_564_000, '59.4 min'],
  [86_400_000, '1 d'],
  [129_600_000, '36 h'],
])('%d ms is %s', (ms, text) => {
  expect(formatDuration(ms).replace('\u00a0', ' ')).toBe(text)
})

it.each([
  [1234, 4000, '1.23 s'],
  [12_340, 40_000, '12.3 s'],
  [90_000, 240_000, '1:30'],
  [5_400_000, 14_400_000, '1 h 30'],
  [129_600_000, 345_600_000, '1 d 12 h'],
])('%d ms of %d is %s', (ms, spanMs, text) => {
  expect(formatElapsed(ms, spanMs)).toBe(text)
})

it('a clock shows the time of day in Greenwich', () => {
  expect(formatClock(Date.parse('2030-01-01T09:59:50.050Z'), false)).toBe('09:59:50')
  expect(formatClock(Date.parse('2030-01-01T09:59:50.050Z'), true)).toBe('09:59:50.050')
})

it.each([
  [999, '999 B'],
  [1090, '1.1 kB'],
  [15_138_000, '15.1 MB'],
  [2e9, '2 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes).replace('\u00a0', ' ')).toBe(text)
})
