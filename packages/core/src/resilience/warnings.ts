import type { OnStoreFailure } from '../policy/index.js'
import { warn } from '../warn.js'
import type { FailureEvent } from './events.js'

/**
 * Returns an `onEvent` listener that prints each change as one process warning. The default, so that operators notice when
 * limits do not hold. `modes` are those of the policies that were used so far.
 */
export function warnOnChange(modes: ReadonlySet<OnStoreFailure>): (event: FailureEvent) => void {
  return (event) => {
    if (event.type === 'store') {
      if (event.isUp)
        warn('STORE_RECOVERED', 'The store is available again. Limits are shared and exact again.')
      else
        warn(
          'STORE_UNAVAILABLE',
          `${messageOf(event.error)} Until the store is available, each policy decides by its onStoreFailure${meaningOf(modes)}.`,
        )
    }
    if (event.type === 'unstable' && event.isUnstable) {
      warn(
        'STORE_UNSTABLE',
        `The store fails some calls, although most succeed: they failed in ten different seconds of the last minute. The last error: ${messageOf(event.error)} Such a check is decided by its policy's onStoreFailure${meaningOf(modes)}.`,
      )
    }
    if (event.type === 'starved' && event.isStarved) {
      warn(
        'PROCESS_STARVED',
        `This process could not run for ${Math.round(event.lateMs)} ms: its event loop is blocked, or its CPU quota is used up. Checks wait for the store longer than their deadline.`,
      )
    }
    if (event.type === 'overload' && event.isOverloaded) {
      warn(
        'OVERLOADED',
        'Too many checks are waiting for the store. Further checks are counted in this process until the queue is shorter. The store itself is healthy.',
      )
    }
  }
}

/** Names only modes that are used: another one would describe decisions that are never made. */
function meaningOf(modes: ReadonlySet<OnStoreFailure>): string {
  const used = Object.entries(MEANINGS).filter(([mode]) => modes.has(mode as OnStoreFailure))
  return used.length === 0 ? '' : `: ${used.map(([mode, meaning]) => `'${mode}' ${meaning}`).join(', ')}`
}

const MEANINGS: Record<OnStoreFailure, string> = {
  open: 'allows every request',
  closed: 'denies every request',
  local: 'counts in this process',
}

let hasWarnedOfListener = false

/** Warns once per process, because a listener usually fails for every event. */
export function warnOfListener(error: unknown): void {
  if (hasWarnedOfListener) return
  hasWarnedOfListener = true
  warn('LISTENER_FAILED', `onEvent threw an error, which does not change the decision: ${messageOf(error)}`)
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.endsWith('.') ? message : `${message}.`
}
