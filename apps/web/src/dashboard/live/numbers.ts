import { formatCount } from '../../words/format.js'

/** A rate without its unit, such as `0`, `0.4`, `12` or `1,250`. */
export function formatRate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 10) return String(Number(perSecond.toFixed(1)))
  return formatCount(Math.round(perSecond))
}

/** The rate of a live event. The first event of a connection has no rates yet, and shows `–`. */
export function formatEventRate(event: { seconds: number }, perSecond: number): string {
  return event.seconds === 0 ? '–' : formatRate(perSecond)
}
