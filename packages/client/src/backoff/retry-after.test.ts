import fc from 'fast-check'
import { expect, it } from 'vitest'
import { retryAfterMs } from './retry-after.js'

const now = Date.parse('2030-01-01T10:00:00Z')

function waitOf(retryAfter: string, date?: string): number | undefined {
  return retryAfterMs(
    new Headers({ 'retry-after': retryAfter, ...(date === undefined ? {} : { date }) }),
    now,
  )
}

it.each([
  ['seconds', '7', 7000],
  ['no wait', '0', 0],
  ['leading zeros', '007', 7000],
  ['more than a number can count', '9'.repeat(400), Number.POSITIVE_INFINITY],
  ['a date', 'Tue, 01 Jan 2030 10:01:30 GMT', 90_000],
  ['a date in the past', 'Tue, 01 Jan 2030 09:00:00 GMT', 0],
  ['a date of RFC 850', 'Tuesday, 01-Jan-30 10:00:05 GMT', 5000],
  ['a date of asctime', 'Tue Jan  1 10:00:05 2030', 5000],
  ['two digits of the last century', 'Wednesday, 01-Jan-97 10:00:05 GMT', 0],
  ['two digits of fifty years from now', 'Monday, 01-Jan-80 10:00:00 GMT', 18_262 * 86_400_000],
  ['two digits of one year more', 'Monday, 01-Jan-81 10:00:00 GMT', 0],
  ['a leap second', 'Tue, 01 Jan 2030 10:00:60 GMT', 60_000],
])('reads %s: %s', (_title, value, ms) => {
  expect(waitOf(value)).toBe(ms)
})

it.each([
  '',
  '-1',
  '+1',
  '1.5',
  '1e3',
  '0x10',
  '٣',
  '5s',
  'soon',
  '5, 10',
  'NaN',
  'Infinity',
  '2030-01-01T10:01:30Z',
  'Tue, 1 Jan 2030 10:01:30 GMT',
  'Tue, 01 Jan 2030 10:01:30 UTC',
  'Tue, 01 Jan 2030 10:01:30 +0100',
  'Tue, 31 Feb 2030 10:01:30 GMT',
  'Tue, 01 Jan 2030 24:00:00 GMT',
  'Tue, 01 Jan 2030 10:60:00 GMT',
  'Tue, 01 Jan 2030 10:00:61 GMT',
  'tue, 01 jan 2030 10:01:30 gmt',
])('ignores %j', (value) => {
  const headers = { get: (name: string) => (name === 'retry-after' ? value : null) } as Headers
  expect(retryAfterMs(headers, now)).toBeUndefined()
})

it('is undefined without the header', () => {
  expect(retryAfterMs(new Headers(), now)).toBeUndefined()
})

it("counts a date from the server's own time, not from the local clock", () => {
  expect(waitOf('Tue, 01 Jan 2030 13:00:20 GMT', 'Tue, 01 Jan 2030 13:00:00 GMT')).toBe(20_000)
  expect(waitOf('Tue, 01 Jan 2030 10:00:20 GMT', 'no date')).toBe(20_000)
})

const SEED = 9110

it('reads every whole number of seconds, exactly', () => {
  const property = fc.property(fc.nat(2 ** 31), (seconds) => waitOf(String(seconds)) === seconds * 1000)
  fc.assert(property, { seed: SEED, numRuns: 1000 })
})

it('reads every date as the time until it, and at least 0', () => {
  const dates = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  const property = fc.property(dates, (date) => {
    const seconds = Math.floor(date.getTime() / 1000)
    expect(waitOf(date.toUTCString())).toBe(Math.max(0, seconds * 1000 - now))
  })
  fc.assert(property, { seed: SEED, numRuns: 1000 })
})

it('never throws, and returns a valid wait or undefined for any header', () => {
  const pieces = fc.constantFrom(
    'Tue, ',
    '01',
    ' Jan ',
    '2030 ',
    '10:01:30',
    ' GMT',
    '-',
    '99',
    ' ',
    'x',
    '\u{1f600}',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces).map((some) => some.join('')),
  )
  const property = fc.property(texts, (value) => {
    const headers = { get: (name: string) => (name === 'retry-after' ? value : null) } as Headers
    const ms = retryAfterMs(headers, now)
    expect(ms === undefined || ms >= 0).toBe(true)
    // Seconds are accepted only if they consist of digits.
    if (ms !== undefined && !value.includes(':')) expect(value).toMatch(/^\d+$/)
  })
  fc.assert(property, { seed: SEED, numRuns: 5000 })
})
