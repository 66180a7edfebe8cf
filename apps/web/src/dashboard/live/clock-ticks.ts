/** The share of the axis at each end where a label would be cut. */
const MARGIN = 0.06

/** Round times of an axis, in seconds since the epoch. */
export function clockTicks(start: number, end: number): number[] {
  const span = end - start
  const step = span <= 120 ? 20 : 60
  const ticks: number[] = []
  const first = Math.ceil((start + MARGIN * span) / step) * step
  for (let at = first; at < end - MARGIN * span; at += step) ticks.push(at)
  return ticks
}
