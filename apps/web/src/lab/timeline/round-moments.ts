const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((count) => count * DAY),
]

/**
 * At most `atMost` round times of an axis that starts at `originMs`, for labels. None is close to an end, where its label
 * would be cut.
 */
export function roundMoments(originMs: number, spanMs: number, atMost: number): number[] {
  const step = STEPS.find((each) => spanMs / each <= atMost) ?? 100 * DAY
  const margin = spanMs / atMost / 2
  const moments: number[] = []
  for (let at = step - (originMs % step); at < spanMs - margin; at += step) if (at > margin) moments.push(at)
  return moments
}
