import { describe, expect, it } from 'vitest'
import {
  formatBytes,
  formatCalendarLimit,
  formatClock,
  formatDuration,
  formatElapsed,
  formatLimit,
  formatLocalTime,
  formatPeriod,
} from './format.js'

const plainSpaces = (text: string) => text.replaceAll('\u00a0', ' ')

describe('formatDuration', () => {
  it.each([
    [0, '0 ms', '0ms'],
    [0.001, '1 µs', '1µs'],
    [0.9999, '1 ms', '1ms'],
    [250, '250 ms', '250ms'],
    [999.7, '1 s', '1초'],
    [1500, '1.5 s', '1.5초'],
    [12_340, '12 s', '12초'],
    [60_000, '1 min', '1분'],
    [79_900, '1 min 20 s', '1분 20초'],
    [119_900, '2 min', '2분'],
    [26.6 * 60_000, '27 min', '27분'],
    [3_564_000, '59 min', '59분'],
    [3_599_900, '1 h', '1시간'],
    [5_400_000, '1 h 30 min', '1시간 30분'],
    [86_400_000, '1 d', '1일'],
    [129_600_000, '1 d 12 h', '1일 12시간'],
  ])('%d ms is %s in English and %s in Korean', (ms, en, ko) => {
    expect(plainSpaces(formatDuration(ms, 'en'))).toBe(en)
    expect(formatDuration(ms, 'ko')).toBe(ko)
  })
})

describe('formatPeriod', () => {
  it.each([
    [100, '100 ms', '100ms'],
    [1800, '1.8 s', '1.8초'],
    [13_500, '13.5 s', '13.5초'],
    [60_000, '1 min', '1분'],
    [90_000, '90 s', '90초'],
    [930_000, '15 min 30 s', '15분 30초'],
    [8_640_000, '2 h 24 min', '2시간 24분'],
    [129_600_000, '36 h', '36시간'],
    [366 * 86_400_000, '366 d', '366일'],
  ])('%d ms is exactly %s in English and %s in Korean', (ms, en, ko) => {
    expect(plainSpaces(formatPeriod(ms, 'en'))).toBe(en)
    expect(formatPeriod(ms, 'ko')).toBe(ko)
  })
})

describe('formatLimit', () => {
  it.each([
    [100, 60_000, '100 / min', '분당 100건'],
    [5, 900_000, '5 / 15 min', '15분당 5건'],
    [1000, 86_400_000, '1,000 / day', '하루 1,000건'],
  ])('%d in %d ms is %s in English and %s in Korean', (count, periodMs, en, ko) => {
    expect(plainSpaces(formatLimit(count, periodMs, 'en'))).toBe(en)
    expect(formatLimit(count, periodMs, 'ko')).toBe(ko)
  })
})

it.each([
  ['day', '20 / day', '하루 20건'],
  ['week', '20 / week', '한 주 20건'],
  ['month', '20 / month', '한 달 20건'],
  ['year', '20 / year', '한 해 20건'],
] as const)('20 per calendar %s is %s in English and %s in Korean', (unit, en, ko) => {
  expect(plainSpaces(formatCalendarLimit(20, unit, 'en'))).toBe(en)
  expect(formatCalendarLimit(20, unit, 'ko')).toBe(ko)
})

describe('formatElapsed', () => {
  it.each([
    [1234, 4000, '1.23 s', '1.23초'],
    [12_340, 40_000, '12.3 s', '12.3초'],
    [90_000, 240_000, '1:30', '1:30'],
    [5_400_000, 14_400_000, '1 h 30 min', '1시간 30분'],
    [129_600_000, 345_600_000, '1 d 12 h', '1일 12시간'],
  ])('%d ms on an axis of %d ms is %s in English and %s in Korean', (ms, spanMs, en, ko) => {
    expect(plainSpaces(formatElapsed(ms, spanMs, 'en'))).toBe(en)
    expect(formatElapsed(ms, spanMs, 'ko')).toBe(ko)
  })
})

it('formatClock shows the time of day in UTC', () => {
  expect(formatClock(Date.parse('2030-01-01T09:59:50.050Z'), false)).toBe('09:59:50')
  expect(formatClock(Date.parse('2030-01-01T09:59:50.050Z'), true)).toBe('09:59:50.050')
})

it('formatLocalTime shows the time of day of the browser', () => {
  const epochMs = new Date(2030, 0, 1, 9, 5, 7).getTime()
  expect(formatLocalTime(epochMs, false)).toBe('09:05')
  expect(formatLocalTime(epochMs, true)).toBe('09:05:07')
})

it.each([
  [999, '999 B'],
  [1090, '1.1 kB'],
  [15_138_000, '15.1 MB'],
  [2e9, '2 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(plainSpaces(formatBytes(bytes))).toBe(text)
})
