import { platformTimers, type Timers } from '../timers.js'
import type { MaybePromise } from './store.js'
import { isStoreFailure } from './store-error.js'

/**
 * Sends a call again when the store fails, a few times with a pause in between, as long as its caller waits. Only for
 * calls that may be executed twice.
 */
export async function untilAnswered<T>(
  send: () => MaybePromise<T>,
  isWanted: () => boolean,
  timers: Timers = platformTimers,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (attempt === ATTEMPTS || !isWanted() || !isStoreFailure(error)) throw error
    }
    await new Promise<void>((resolve) => timers.after(attempt * PAUSE_MS, resolve))
  }
}

const ATTEMPTS = 3
const PAUSE_MS = 100
