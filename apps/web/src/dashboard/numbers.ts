import { formatCount, formatDuration } from '../format.js'

/** A rate as short as it can be read: `0`, `0.4`, `12`, `1,250`. */
export function formatRate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 10) return String(Number(perSecond.toFixed(1)))
  return formatCount(Math.round(perSecond))
}

/** A time on an axis. */
export function formatTick(ms: number): string {
  return ms === 0 ? '0' : formatDuration(ms)
}
