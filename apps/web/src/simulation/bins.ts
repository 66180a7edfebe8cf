import { ROUND_SPANS } from './round-spans.js'

/** Equal parts of an axis. The first may start before 0 and the last may end after the axis. */
export interface Bins {
  readonly startMs: number
  readonly widthMs: number
  readonly count: number
}

/** The number of times in each bin, start included, end excluded. Times outside the bins are not counted. */
export function countPerBin(times: readonly number[], { startMs, widthMs, count }: Bins): number[] {
  const counts = new Array<number>(count).fill(0)
  for (const time of times) {
    const bin = Math.floor((time - startMs) / widthMs)
    if (bin >= 0 && bin < count) counts[bin]!++
  }
  return counts
}

const MAX_BINS = 240
/** Times are rounded to microseconds, so equal gaps differ by up to this much. */
const GAP_TOLERANCE_MS = 0.0021
/** From this share of equal gaps on, traffic counts as evenly spaced. */
const REGULAR_SHARE = 0.6

/**
 * Chooses bins in which evenly spaced traffic has even counts. A fixed bin width beats against the spacing and
 * draws a comb that is not in the traffic. Other traffic has bins of a round length.
 */
export function chooseBins(arrivals: readonly number[], spanMs: number): Bins {
  const minWidthMs = spanMs / MAX_BINS
  const spacing = spacingOf(arrivals)
  if (spacing === undefined) {
    const widthMs = ROUND_SPANS.find((span) => span >= minWidthMs) ?? minWidthMs
    return binsThrough(0, widthMs, spanMs)
  }
  const { firstMs, gapMs } = spacing
  if (gapMs >= 2 * minWidthMs) {
    const widthMs = partOf(gapMs, minWidthMs)
    return binsThrough(firstMs - widthMs / 2, widthMs, spanMs)
  }
  const fewest = Math.ceil(minWidthMs / gapMs)
  const candidates = Array.from({ length: fewest + 1 }, (_, i) =>
    binsThrough(firstMs - gapMs / 2, (fewest + i) * gapMs, spanMs),
  )
  const unevenness = candidates.map((bins) => distinctCounts(arrivals, bins))
  return candidates[unevenness.indexOf(Math.min(...unevenness))]!
}

/** The shortest equal part of a gap that is at least `minMs` long: of a round length if there is one. */
function partOf(gapMs: number, minMs: number): number {
  const round = ROUND_SPANS.find((span) => span >= minMs && span <= gapMs / 2 && isMultiple(gapMs, span))
  return round ?? gapMs / Math.floor(gapMs / minMs)
}

function isMultiple(gapMs: number, spanMs: number): boolean {
  return Math.abs(gapMs - Math.round(gapMs / spanMs) * spanMs) < GAP_TOLERANCE_MS
}

/** Bins over the whole axis, aligned so that `edgeMs` is the start of a bin. */
export function binsThrough(edgeMs: number, widthMs: number, spanMs: number): Bins {
  const before = Math.ceil(edgeMs / widthMs - 1e-9)
  const startMs = edgeMs - before * widthMs
  return { startMs, widthMs, count: Math.ceil((spanMs - startMs) / widthMs - 1e-9) }
}

function distinctCounts(arrivals: readonly number[], bins: Bins): number {
  return new Set(countPerBin(arrivals, bins).filter((count) => count > 0)).size
}

/** The common gap between distinct times and the first time that it follows; undefined if gaps differ. */
function spacingOf(arrivals: readonly number[]): { firstMs: number; gapMs: number } | undefined {
  const times = arrivals.filter((time, i) => time !== arrivals[i - 1])
  const gaps = times.slice(1).map((time, i) => time - times[i]!)
  const median = gaps.toSorted((a, b) => a - b)[gaps.length >> 1]
  // A single gap cannot be regular.
  if (median === undefined || gaps.length === 1) return undefined
  const isEqual = (gap: number) => Math.abs(gap - median) <= GAP_TOLERANCE_MS
  const equal = gaps.filter(isEqual)
  if (equal.length < REGULAR_SHARE * gaps.length) return undefined
  const gapMs = equal.reduce((sum, gap) => sum + gap, 0) / equal.length
  return { firstMs: times[gaps.findIndex(isEqual)]!, gapMs }
}
