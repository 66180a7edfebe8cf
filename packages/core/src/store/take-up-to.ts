import type { KeyState } from '../algorithms/index.js'
import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { TakeUpToRequest, TakeUpToResult } from './store.js'

/** How many units to take, from a peek with a cost of `min`. If `min` does not fit, a take of it is denied. */
export function unitsToTake(look: Decision, { min, max, divisor }: TakeUpToRequest): number {
  return look.allowed ? Math.max(min, Math.min(max, Math.floor(look.remaining / divisor))) : min
}

/** The result of a take of these units that left the key in this state. */
export function takeUpToResult(decision: Decision, state: KeyState | undefined): TakeUpToResult {
  if (!decision.allowed) return { taken: 0, decision, windowEndMs: undefined }
  return { taken: decision.cost, decision, windowEndMs: windowEndOf(state) }
}

/** Units of a fixed window or a counter count in one window. Those of a log and a bucket do not. */
function windowEndOf(state: KeyState | undefined): number | undefined {
  if (state?.algorithm !== 'fixed-window' && state?.algorithm !== 'sliding-window-counter') return undefined
  return usToMs(state.start + state.length)
}
