import moment from 'moment-timezone'
import { describe, expect, it } from 'vitest'
import { CALENDAR_UNITS, type CalendarUnit, calendarWindows, isTimeZone, timeZoneName } from './calendar.js'

const DAY_MS = 86_400_000
const at = (time: string) => Date.parse(time) * 1000
const iso = (us: number) => new Date(us / 1000).toISOString()
const windowAt = (unit: CalendarUnit, timeZone: string, time: string) => {
  const { start, end } = calendarWindows(unit, timeZone).windowAt(at(time))
  return [iso(start), iso(end)]
}

describe('windows', () => {
  it.each([
    ['day', 'UTC', '2026-03-01T12:00:00Z', '2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['day', 'Asia/Seoul', '2026-03-01T14:59:59.999Z', '2026-02-28T15:00:00.000Z', '2026-03-01T15:00:00.000Z'],
    ['day', 'Asia/Seoul', '2026-03-01T15:00:00Z', '2026-03-01T15:00:00.000Z', '2026-03-02T15:00:00.000Z'],
    ['week', 'UTC', '2026-03-01T23:59:59Z', '2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['week', 'UTC', '1969-12-31T00:00:00Z', '1969-12-29T00:00:00.000Z', '1970-01-05T00:00:00.000Z'],
    ['month', 'UTC', '2024-02-29T23:00:00Z', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    [
      'month',
      'America/New_York',
      '2026-03-20T00:00:00Z',
      '2026-03-01T05:00:00.000Z',
      '2026-04-01T04:00:00.000Z',
    ],
    [
      'year',
      'Asia/Kathmandu',
      '2026-06-01T00:00:00Z',
      '2025-12-31T18:15:00.000Z',
      '2026-12-31T18:15:00.000Z',
    ],
  ] as const)('%s in %s at %s', (unit, timeZone, time, start, end) => {
    expect(windowAt(unit, timeZone, time)).toStrictEqual([start, end])
  })

  it('a window is at most 366 days and one hour long', () => {
    const { start, end } = calendarWindows('year', 'Asia/Pyongyang').windowAt(at('2016-06-01T00:00:00Z'))
    expect((end - start) / 1000 / DAY_MS).toBe(366)
    let longest = 0
    for (const timeZone of ZONES) {
      const { windowAt } = calendarWindows('year', timeZone)
      for (let year = 1996; year <= 2036; year++) {
        const window = windowAt(Date.UTC(year, 6) * 1000)
        longest = Math.max(longest, window.end - window.start)
      }
    }
    expect(longest / 1000).toBeLessThanOrEqual(366 * DAY_MS + 3_600_000)
  })

  it.each([
    ['the clock goes from 00:00 to 01:00', 'America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00Z', 23],
    [
      'the clock goes from 24:00 back to 23:00',
      'America/Sao_Paulo',
      '2019-02-16',
      '2019-02-16T02:00:00Z',
      25,
    ],
    ['the clock goes from 00:01 back to 23:01', 'America/St_Johns', '2010-11-06', '2010-11-06T02:30:00Z', 24],
    ['an hour of the day before comes again', 'America/St_Johns', '2010-11-07', '2010-11-07T02:30:00Z', 25],
    [
      'the clock is set forward by half an hour',
      'Asia/Pyongyang',
      '2018-05-04',
      '2018-05-03T15:30:00Z',
      23.5,
    ],
    [
      'daylight saving of half an hour ends',
      'Australia/Lord_Howe',
      '2025-04-06',
      '2025-04-05T13:00:00Z',
      24.5,
    ],
    ['daylight saving of two hours begins', 'Antarctica/Troll', '2025-03-30', '2025-03-30T00:00:00Z', 22],
    ['daylight saving begins at midnight', 'Asia/Beirut', '2025-03-30', '2025-03-29T22:00:00Z', 23],
    [
      'daylight saving begins on a Friday at midnight',
      'Africa/Cairo',
      '2024-04-26',
      '2024-04-25T22:00:00Z',
      23,
    ],
    ['30 December 2011 is left out', 'Pacific/Apia', '2011-12-29', '2011-12-29T10:00:00Z', 24],
    ['31 December follows 29 December', 'Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00Z', 24],
    ['21 August 1993 is left out', 'Pacific/Kwajalein', '1993-08-20', '1993-08-20T12:00:00Z', 24],
    ['the zone moves across the date line', 'Pacific/Kwajalein', '1993-08-22', '1993-08-21T12:00:00Z', 24],
  ])('%s: %s, %s', (_, timeZone, date, start, hours) => {
    const [startsAt, endsAt] = windowAt('day', timeZone, start)
    expect(startsAt).toBe(new Date(start).toISOString())
    expect((Date.parse(endsAt!) - Date.parse(start)) / 3_600_000).toBe(hours)
    expect(localDate(timeZone, Date.parse(start))).toBe(date)
    expect(windowAt('day', timeZone, new Date(Date.parse(start) - 1).toISOString())[1]).toBe(startsAt)
  })

  it('a repeated hour of yesterday belongs to today: the window has begun', () => {
    // 00:00 to 00:01 on 7 November, then 23:01 to 24:00 on 6 November once more.
    expect(localDate('America/St_Johns', Date.parse('2010-11-07T02:30:30Z'))).toBe('2010-11-07')
    expect(localDate('America/St_Johns', Date.parse('2010-11-07T03:00:00Z'))).toBe('2010-11-06')
    expect(windowAt('day', 'America/St_Johns', '2010-11-07T03:00:00Z')[0]).toBe('2010-11-07T02:30:00.000Z')
  })

  it('returns the boundaries of the window before, this one and the two after', () => {
    const months = calendarWindows('month', 'Europe/Berlin').boundariesAround(at('2026-03-15T00:00:00Z'))
    expect(months.map(iso)).toStrictEqual([
      '2026-01-31T23:00:00.000Z',
      '2026-02-28T23:00:00.000Z',
      '2026-03-31T22:00:00.000Z',
      '2026-04-30T22:00:00.000Z',
      '2026-05-31T22:00:00.000Z',
    ])
    const skipping = calendarWindows('day', 'Pacific/Apia').boundariesAround(at('2011-12-31T00:00:00Z'))
    expect(skipping.map((us) => localDate('Pacific/Apia', us / 1000))).toStrictEqual([
      '2011-12-29',
      '2011-12-31',
      '2012-01-01',
      '2012-01-02',
      '2012-01-03',
    ])
  })

  it('reuses the window of the last call', () => {
    const { windowAt, boundariesAround } = calendarWindows('day', 'Asia/Seoul')
    const window = windowAt(at('2026-03-01T15:00:00Z'))
    const boundaries = boundariesAround(window.start)
    expect(windowAt(window.end - 1)).toBe(window)
    expect(boundariesAround(window.end - 1)).toBe(boundaries)
    expect(boundariesAround(window.end)).not.toBe(boundaries)
  })

  it('works to the ends of the safe range', () => {
    for (const unit of CALENDAR_UNITS) {
      for (const timeZone of ['UTC', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Manila']) {
        const { windowAt, boundariesAround } = calendarWindows(unit, timeZone)
        for (const us of [-Number.MAX_SAFE_INTEGER, -1, 0, 4e15, Number.MAX_SAFE_INTEGER]) {
          const { start, end } = windowAt(us)
          expect(start <= us && us < end).toBe(true)
          const boundaries = boundariesAround(us)
          expect(boundaries.slice(1, 3)).toStrictEqual([start, end])
          expect(boundaries).toStrictEqual([...new Set(boundaries)].sort((a, b) => a - b))
          expect(boundaries).toHaveLength(5)
        }
      }
    }
  })
})

describe('time zone names', () => {
  it.each([
    ['Asia/Seoul', 'Asia/Seoul'],
    ['asia/seoul', 'Asia/Seoul'],
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    // An alias is not replaced by the main name, which differs between platforms.
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['US/Pacific', 'US/Pacific'],
  ])('accepts %s as %s', (name, written) => {
    expect(isTimeZone(name)).toBe(true)
    expect(timeZoneName(name)).toBe(written)
    expect(calendarWindows('day', name).timeZone).toBe(written)
  })

  it.each(['', 'Seoul', 'Asia/Soul', ' Asia/Seoul', 'UTC+9', undefined, null, 9, {}])(
    'rejects %s',
    (name) => {
      expect(isTimeZone(name)).toBe(false)
    },
  )

  it('accepts an offset where the platform does', () => {
    if (!isTimeZone('+09:00'))
      return expect(() => new Intl.DateTimeFormat('en', { timeZone: '+09:00' })).toThrow()
    expect(windowAt('day', '+09:00', '2026-03-01T15:00:00Z')[0]).toBe('2026-03-01T15:00:00.000Z')
  })

  it('shares the windows of a zone between policies', () => {
    expect(calendarWindows('day', 'asia/seoul')).toBe(calendarWindows('day', 'Asia/Seoul'))
    expect(calendarWindows('week', 'Asia/Seoul')).not.toBe(calendarWindows('day', 'Asia/Seoul'))
  })
})

/** Zones of both hemispheres, with and without daylight saving, and zones that changed their rules. */
const ZONES = [
  ...['UTC', 'Asia/Seoul', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'America/New_York', 'America/St_Johns'],
  ...['Europe/Berlin', 'Australia/Sydney', 'Australia/Lord_Howe', 'America/Santiago', 'Antarctica/Troll'],
  ...['America/Sao_Paulo', 'Asia/Beirut', 'Africa/Cairo', 'Asia/Gaza', 'Asia/Tehran', 'Asia/Pyongyang'],
  ...[
    'Europe/Moscow',
    'Europe/Istanbul',
    'America/Caracas',
    'Africa/Casablanca',
    'Pacific/Apia',
    'Asia/Dhaka',
  ],
]

/*
 * The oracle: moment-timezone brings its own time zone data, a list of offsets with their ends. From these a boundary is
 * plain arithmetic. Its data may be of another year than the platform's.
 */
const FROM_MS = Date.UTC(1996, 0)
const TO_MS = Date.UTC(2026, 0)

interface Piece {
  readonly from: number
  readonly to: number
  readonly offset: number
}

function piecesOf(timeZone: string): Piece[] {
  const { untils, offsets } = moment.tz.zone(timeZone)!
  return offsets.map((minutes, i) => ({
    from: i === 0 ? -Infinity : untils[i - 1]!,
    to: untils[i] ?? Infinity,
    offset: -minutes * 60_000,
  }))
}

/** The starts of all windows whose first day is between two times, in milliseconds. */
function boundariesOf(pieces: Piece[], unit: CalendarUnit, fromMs: number, toMs: number): number[] {
  const boundaries: number[] = []
  let first = 0
  for (let day = Math.ceil(fromMs / DAY_MS) * DAY_MS; day < toMs; day += DAY_MS) {
    const date = new Date(day)
    if (unit === 'week' && date.getUTCDay() !== 1) continue
    if (unit === 'month' && date.getUTCDate() !== 1) continue
    if (unit === 'year' && !(date.getUTCDate() === 1 && date.getUTCMonth() === 0)) continue
    while (pieces[first]!.to < day - 2 * DAY_MS) first++
    let i = first
    while (Math.max(pieces[i]!.from, day - pieces[i]!.offset) >= pieces[i]!.to) i++
    const start = Math.max(pieces[i]!.from, day - pieces[i]!.offset)
    if (start !== boundaries.at(-1)) boundaries.push(start)
  }
  return boundaries
}

function expectSame(timeZone: string, unit: CalendarUnit, boundaries: number[]): void {
  const { windowAt } = calendarWindows(unit, timeZone)
  for (let i = 1; i < boundaries.length; i++) {
    const [start, end] = [boundaries[i - 1]!, boundaries[i]!]
    for (const ms of [start, end - 1]) {
      const window = windowAt(ms * 1000)
      if (window.start === start * 1000 && window.end === end * 1000) continue
      expect.fail(`${timeZone}, ${unit} at ${iso(ms * 1000)}: ${iso(window.start)} to ${iso(window.end)},
        expected ${iso(start * 1000)} to ${iso(end * 1000)}`)
    }
  }
}

/** Whether the platform has the oracle's offsets at each of its changes. */
function isSameData(timeZone: string, pieces: Piece[]): boolean {
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  const offsetAt = (ms: number) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`) - ms
  return pieces.every(({ from, to, offset }) => {
    const inRange = [from, to - 1000].filter((ms) => ms > FROM_MS - 5 * DAY_MS && ms < TO_MS + 5 * DAY_MS)
    return inRange.every((ms) => offsetAt(ms) === offset)
  })
}

function localDate(timeZone: string, ms: number): string {
  return new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' }).format(ms)
}

describe('against other time zone data', () => {
  it.each(ZONES)('%s: every day, week, month and year of 1996 to 2025', (timeZone) => {
    const pieces = piecesOf(timeZone)
    for (const unit of CALENDAR_UNITS) {
      const boundaries = boundariesOf(pieces, unit, FROM_MS, TO_MS)
      expect(boundaries.length).toBeGreaterThanOrEqual(
        { day: 10_957, week: 1565, month: 360, year: 30 }[unit],
      )
      expectSame(timeZone, unit, boundaries)
    }
  })

  it('every other zone: all months of 1996 to 2025, and the days around each change', () => {
    const zones = moment.tz.names().filter(isTimeZone)
    const others: string[] = []
    const seen = new Set<string>()
    let changes = 0
    for (const timeZone of zones) {
      const pieces = piecesOf(timeZone).filter(({ to }) => to > FROM_MS - 5 * DAY_MS)
      // Many names are links to one zone, and many zones have had the same offsets since 1996.
      const id = JSON.stringify(pieces.map(({ to, offset }) => [to, offset]))
      if (seen.has(id)) continue
      seen.add(id)
      if (!isSameData(timeZone, pieces)) {
        others.push(timeZone)
        continue
      }
      expectSame(timeZone, 'month', boundariesOf(pieces, 'month', FROM_MS, TO_MS))
      for (const { to } of pieces) {
        if (to < FROM_MS || to > TO_MS) continue
        changes++
        expectSame(timeZone, 'day', boundariesOf(pieces, 'day', to - 3 * DAY_MS, to + 3 * DAY_MS))
      }
    }
    expect(zones.length).toBeGreaterThan(400)
    expect(seen.size).toBeGreaterThan(150)
    expect(changes).toBeGreaterThan(3000)
    expect(others.length).toBeLessThan(zones.length / 20)
  })

  it('no zone changes its offset twice within two days', () => {
    const lengths = moment.tz
      .names()
      .flatMap((timeZone) => piecesOf(timeZone).map(({ from, to }) => to - from))
    expect(lengths.length).toBeGreaterThan(10_000)
    expect(lengths.reduce((shortest, length) => Math.min(shortest, length))).toBeGreaterThan(2 * DAY_MS)
  })

  it('every minute of an odd week, read from local dates', () => {
    for (const [timeZone, from] of [
      ['America/St_Johns', '2010-11-04'],
      ['America/Sao_Paulo', '2018-11-01'],
      ['Pacific/Apia', '2011-12-27'],
      ['Africa/Cairo', '2014-05-12'],
    ] as const) {
      const { windowAt } = calendarWindows('day', timeZone)
      const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' })
      let latest = format.format(Date.parse(from))
      let start: number | undefined
      for (let ms = Date.parse(from); ms < Date.parse(from) + 7 * DAY_MS; ms += 60_000) {
        const date = format.format(ms)
        if (date > latest) start = ms
        if (date > latest) latest = date
        if (start !== undefined && windowAt(ms * 1000).start !== start * 1000) {
          expect.fail(`${timeZone} at ${iso(ms * 1000)}: expected a window that began ${iso(start * 1000)}`)
        }
      }
      expect(start).toBeDefined()
    }
  })

  it.each([2030, 2060, 2100, 2250])('the days of %i begin and end with their date', (year) => {
    for (const timeZone of [
      'America/New_York',
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'Asia/Seoul',
      'Asia/Beirut',
    ]) {
      const { windowAt } = calendarWindows('day', timeZone)
      const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short' })
      const seen = new Set<string>()
      for (let us = Date.UTC(year, 0, 2) * 1000; us < Date.UTC(year, 11, 31) * 1000; us = windowAt(us).end) {
        const { start, end } = windowAt(us)
        const dates = [start / 1000 - 1, start / 1000, end / 1000 - 1].map((ms) => format.format(ms))
        if (dates[0]! >= dates[1]! || dates[1] !== dates[2]) expect.fail(`${timeZone}: ${dates}`)
        seen.add(dates[1]!)
      }
      expect(seen.size).toBeGreaterThanOrEqual(363)
    }
  })
})
