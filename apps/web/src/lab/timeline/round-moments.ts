import { ROUND_SPANS } from '../../simulation/round-spans.js'

/**
 * At most `atMost` round times of an axis that starts at `originMs`, for labels. None is close to an end, where its label
 * would be cut.
 */
export function roundMoments(originMs: number, spanMs: number, atMost: number): number[] {
  const step = ROUND_SPANS.find((each) => spanMs / each <= atMost) ?? spanMs
  const margin = spanMs / atMost / 2
  const moments: number[] = []
  for (let at = step - (originMs % step); at < spanMs - margin; at += step) if (at > margin) moments.push(at)
  return moments
}
