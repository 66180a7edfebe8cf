import { expect, it } from 'vitest'
import { readTimeZone, TIME_ZONES } from './time-zones.js'

it('every listed time zone can be read from the address', () => {
  expect(TIME_ZONES.length).toBeGreaterThan(300)
  expect(TIME_ZONES.map(readTimeZone)).toStrictEqual(TIME_ZONES)
})

it.each(['Asia/Calcutta', 'Asia/Kolkata', 'Etc/GMT+9'])('%s is accepted, listed or not', (name) => {
  expect(readTimeZone(name)).toBe(name)
})

it.each([undefined, '', 'Mars/Olympus', '+09:00', "UTC'", '<img src=x>', 'A'.repeat(5000)])(
  'readTimeZone returns UTC for %s',
  (text) => expect(readTimeZone(text)).toBe('UTC'),
)
