const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A length of time, short: `250 ms`, `1.5 s`, `2 min`, `36 h`. The symbols are everybody's, and stay with the number. */
export function formatDuration(ms: number): string {
  if (ms > 0 && ms < 1) return withUnit(ms * 1000, 0, 'µs')
  if (ms < SECOND) return withUnit(ms, 0, 'ms')
  if (ms < 2 * MINUTE && ms !== MINUTE) return withUnit(ms / SECOND, 1, 's')
  if (ms < 2 * HOUR && ms !== HOUR) return withUnit(ms / MINUTE, 1, 'min')
  if (ms < 2 * DAY && ms !== DAY) return withUnit(ms / HOUR, 1, 'h')
  return withUnit(ms / DAY, 1, 'd')
}

/** A moment of an axis of this length, from its start. */
export function formatElapsed(ms: number, spanMs: number): string {
  if (spanMs <= 10 * SECOND) return `${(ms / SECOND).toFixed(2)} s`
  if (spanMs <= 2 * MINUTE) return `${(ms / SECOND).toFixed(1)} s`
  if (spanMs < 2 * HOUR) return `${Math.floor(ms / MINUTE)}:${two(Math.floor(ms / SECOND) % 60)}`
  if (spanMs < 2 * DAY) return `${Math.floor(ms / HOUR)} h ${two(Math.floor(ms / MINUTE) % 60)}`
  return `${Math.floor(ms / DAY)} d ${two(Math.floor(ms / HOUR) % 24)} h`
}

/** The time of day, as a clock in Greenwich has it. */
export function formatClock(epochMs: number, withMs: boolean): string {
  return new Date(epochMs).toISOString().slice(11, withMs ? 23 : 19)
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return withUnit(bytes, 0, 'B')
  if (bytes < 1e6) return withUnit(bytes / 1e3, 1, 'kB')
  if (bytes < 1e9) return withUnit(bytes / 1e6, 1, 'MB')
  return withUnit(bytes / 1e9, 1, 'GB')
}

export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

function withUnit(value: number, decimals: number, unit: string): string {
  return `${Number(value.toFixed(decimals))}\u00a0${unit}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
