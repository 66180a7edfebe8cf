import { TidegateError } from '@tidegate/core'

/** Delays before a settlement is sent again after a failure of the store. */
const RETRY_MS = [1000, 5000, 25_000]

/**
 * Sends a settlement until the store has accepted it. It can be repeated, because settling by id has an effect once. After
 * the last try the reserved units stay charged; failures of the store are reported elsewhere.
 */
export async function sendUntilStored(send: () => Promise<unknown>): Promise<void> {
  for (const waitMs of [...RETRY_MS, undefined]) {
    try {
      await send()
      return
    } catch (error) {
      if (!(error instanceof TidegateError) || error.code !== 'STORE_FAILED') throw error
    }
    if (waitMs !== undefined) await new Promise<void>((resolve) => setTimeout(resolve, waitMs).unref())
  }
}
