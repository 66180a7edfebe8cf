import type { Policy } from '../policy/index.js'
import type { Store } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'
import { platformTimers } from '../timers.js'

/** Resolves once the store is available; rejects with `STORE_FAILED` and the reason if it is not. */
export async function whenReady(store: Store, policy: Policy): Promise<void> {
  if (store.traits?.ready !== undefined) return store.traits.ready()
  const probe = async () => store.peek({ policy, key: 'ready', cost: 1 })
  const { degraded } = await withTimeout(probe(), READY_TIMEOUT_MS)
  if (degraded !== undefined)
    throw storeFailed('unreachable', 'The store is unavailable: a peek was decided by the fallback.')
}

/** For stores that do not implement `traits.ready`. */
const READY_TIMEOUT_MS = 5000

function withTimeout<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = platformTimers.after(ms, () =>
      reject(storeFailed('timeout', `The store did not respond within ${ms} ms.`)),
    )
    answer.then(resolve, reject).finally(() => platformTimers.cancel(timer))
  })
}
