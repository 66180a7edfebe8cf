const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  DAY,
]

/**
 * Moments of an axis at which a clock shows a round time, at most so many. None is near an end of the axis,
 * where its label would be cut.
 */
export function roundMoments(axis: { originMs: number; spanMs: number }, atMost: number): number[] {
  const { originMs, spanMs } = axis
  const step = STEPS.find((each) => spanMs / each <= atMost) ?? DAY
  const margin = spanMs / atMost / 2
  const moments: number[] = []
  for (let at = step - (originMs % step); at < spanMs - margin; at += step) if (at > margin) moments.push(at)
  return moments
}
