import type { Scenario } from '../../simulation/scenario.js'
import { formatClock } from '../../words/format.js'
import type { Words } from '../../words/words.js'

/** A time of the axis as text. `isRound` omits milliseconds, if all shown times are whole seconds. */
export function momentText(
  { axis, originMs, spanMs }: Scenario,
  at: number,
  { format }: Words,
  isRound = false,
): string {
  return axis === 'clock'
    ? formatClock(originMs + at, spanMs < 60_000 && !isRound)
    : format.elapsed(at, spanMs)
}
