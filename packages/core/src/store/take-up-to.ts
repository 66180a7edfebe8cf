import type { KeyState } from '../algorithms/index.js'
import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { TakeUpToRequest, TakeUpToResult } from './full-store.js'

/** The number of units to take, from a peek with a cost of `min`; `min` if it does not fit, so that the take is denied. */
export function unitsToTake(peek: Decision, { min, max, divisor }: TakeUpToRequest): number {
  return peek.allowed ? Math.max(min, Math.min(max, Math.floor(peek.remaining / divisor))) : min
}

/** The result of `takeUpTo`, from its decision and the key's state afterwards. */
export function takeUpToResult(decision: Decision, state: KeyState | undefined): TakeUpToResult {
  if (!decision.allowed) return { taken: 0, decision, windowEndMs: undefined }
  return { taken: decision.cost, decision, windowEndMs: windowEndOf(state) }
}

/** The end of the window that units count in. Only fixed windows and counters have one. */
function windowEndOf(state: KeyState | undefined): number | undefined {
  if (state?.algorithm !== 'fixed-window' && state?.algorithm !== 'sliding-window-counter') return undefined
  return usToMs(state.start + state.length)
}
