import type { ManualClock } from '@tidegate/core'
import { RedisStore, type RedisStoreOptions } from '../src/redis-store.js'
import { TEST_CLOCK } from '../src/test-clock.js'

/** A store on the clock of a test, without a denial cache: every decision is made by the script. */
export function timedStore(url: string, clock: ManualClock, prefix: string): RedisStore {
  return new RedisStore(url, { prefix, denialCacheMs: 0, [TEST_CLOCK]: clock } as RedisStoreOptions)
}
