import { platformTimers, type Timers } from '../timers.js'
import type { MaybePromise } from './store.js'
import { isStoreFailure } from './store-error.js'

/**
 * Retries a call when the store fails: up to three attempts with a pause in between, while the caller waits. Only for
 * idempotent calls.
 */
export async function retryOnFailure<T>(
  send: () => MaybePromise<T>,
  isAwaited: () => boolean,
  timers: Timers = platformTimers,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (attempt === ATTEMPTS || !isAwaited() || !isStoreFailure(error)) throw error
    }
    await new Promise<void>((resolve) => timers.after(attempt * PAUSE_MS, resolve))
  }
}

const ATTEMPTS = 3
const PAUSE_MS = 100
