import type { CalendarUnit } from '../simulation/windows.js'
import type { Language } from './language.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Largest first. */
const UNITS = [
  { ms: DAY, en: 'd', ko: '일' },
  { ms: HOUR, en: 'h', ko: '시간' },
  { ms: MINUTE, en: 'min', ko: '분' },
  { ms: SECOND, en: 's', ko: '초' },
] as const

/** The formats of one language. */
export function formatsFor(language: Language) {
  return {
    duration: (ms: number) => formatDuration(ms, language),
    period: (ms: number) => formatPeriod(ms, language),
    limit: (count: number, periodMs: number) => formatLimit(count, periodMs, language),
    calendarLimit: (count: number, unit: CalendarUnit) => formatCalendarLimit(count, unit, language),
    elapsed: (ms: number, spanMs: number) => formatElapsed(ms, spanMs, language),
  }
}

/** A measured or remaining time, rounded: `479 µs`, `1.5 s`, `1 min 20 s`, `27 min`; in Korean `1분 20초`. */
export function formatDuration(ms: number, language: Language): string {
  if (ms > 0 && ms < 0.9995) return withUnit(Math.round(ms * 1000), 'µs', language)
  if (ms < SECOND - 0.5) return withUnit(Math.round(ms), 'ms', language)
  if (ms < 9.95 * SECOND)
    return withUnit(Number((ms / SECOND).toFixed(1)), language === 'en' ? 's' : '초', language)
  let rounded = Math.round(ms / SECOND) * SECOND
  // From 10 units on, the next smaller unit is noise.
  for (const unit of UNITS) if (rounded >= 10 * unit.ms) rounded = Math.round(rounded / unit.ms) * unit.ms
  return twoUnits(rounded, language)
}

/** A configured time, exact: `90 s`, `15 min`, `36 h`, `2 h 24 min`. Falls back to `formatDuration` if that needs more than two units. */
export function formatPeriod(ms: number, language: Language): string {
  const whole = UNITS.find((unit) => ms >= unit.ms && ms % unit.ms === 0)
  if (whole !== undefined && (ms / whole.ms < 100 || whole.ms === DAY)) {
    return withUnit(ms / whole.ms, whole[language], language)
  }
  if (ms >= SECOND && ms < MINUTE) {
    return withUnit(Number((ms / SECOND).toFixed(3)), language === 'en' ? 's' : '초', language)
  }
  if (ms < SECOND) return withUnit(Number(ms.toFixed(3)), 'ms', language)
  const largest = UNITS.findIndex((unit) => ms >= unit.ms)
  const next = UNITS[largest + 1]
  return next !== undefined && ms % next.ms === 0 ? twoUnits(ms, language) : formatDuration(ms, language)
}

function twoUnits(ms: number, language: Language): string {
  const largest = UNITS.findIndex((unit) => ms >= unit.ms)
  const [first, second] = [UNITS[largest], UNITS[largest + 1]]
  if (first === undefined) return withUnit(0, UNITS[3][language], language)
  const major = withUnit(Math.floor(ms / first.ms), first[language], language)
  const rest = second === undefined ? 0 : Math.floor((ms % first.ms) / second.ms)
  return second === undefined || rest === 0 ? major : `${major} ${withUnit(rest, second[language], language)}`
}

/** A limit per period: `100 / min`, `5 / 15 min`; in Korean `분당 100건`, `15분당 5건`. */
export function formatLimit(count: number, periodMs: number, language: Language): string {
  const unit = UNITS.find(({ ms }) => ms === periodMs)
  const text = formatCount(count)
  if (language === 'en') {
    const period = unit === undefined ? formatPeriod(periodMs, 'en') : unit.ms === DAY ? 'day' : unit.en
    return `${text}\u00a0/\u00a0${period}`
  }
  const period = unit === undefined ? formatPeriod(periodMs, 'ko') : unit.ko
  return periodMs === DAY ? `하루 ${text}건` : `${period}당 ${text}건`
}

const KOREAN_UNITS: Record<CalendarUnit, string> = {
  day: '하루',
  week: '한 주',
  month: '한 달',
  year: '한 해',
}

/** A limit per calendar unit: `1,000 / month`; in Korean `한 달 1,000건`. */
export function formatCalendarLimit(count: number, unit: CalendarUnit, language: Language): string {
  const text = formatCount(count)
  return language === 'en' ? `${text}\u00a0/\u00a0${unit}` : `${KOREAN_UNITS[unit]} ${text}건`
}

/** A moment on an axis of length `spanMs`, counted from its start. */
export function formatElapsed(ms: number, spanMs: number, language: Language): string {
  const [day, hour, minute, second] = UNITS.map((unit) => (language === 'en' ? `\u00a0${unit.en}` : unit.ko))
  if (spanMs <= 10 * SECOND) return `${(ms / SECOND).toFixed(2)}${second}`
  if (spanMs <= 2 * MINUTE) return `${(ms / SECOND).toFixed(1)}${second}`
  if (spanMs < 2 * HOUR) return `${Math.floor(ms / MINUTE)}:${twoDigits(Math.floor(ms / SECOND) % 60)}`
  if (spanMs < 2 * DAY) {
    return `${Math.floor(ms / HOUR)}${hour} ${twoDigits(Math.floor(ms / MINUTE) % 60)}${minute}`
  }
  return `${Math.floor(ms / DAY)}${day} ${twoDigits(Math.floor(ms / HOUR) % 24)}${hour}`
}

/** The time of day in UTC. */
export function formatClock(epochMs: number, withMs: boolean): string {
  return new Date(epochMs).toISOString().slice(11, withMs ? 23 : 19)
}

/** The time of day in the time zone of the browser. */
export function formatLocalTime(epochMs: number, withSeconds: boolean): string {
  const date = new Date(epochMs)
  const seconds = withSeconds ? [date.getSeconds()] : []
  return [date.getHours(), date.getMinutes(), ...seconds].map(twoDigits).join(':')
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)}\u00a0B`
  if (bytes < 1e6) return `${Number((bytes / 1e3).toFixed(1))}\u00a0kB`
  if (bytes < 1e9) return `${Number((bytes / 1e6).toFixed(1))}\u00a0MB`
  return `${Number((bytes / 1e9).toFixed(1))}\u00a0GB`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

function withUnit(value: number, unit: string, language: Language): string {
  return language === 'en' ? `${value}\u00a0${unit}` : `${value}${unit}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
