import type { ManualClock } from '@tidegate/core'
import { RedisStore, type RedisStoreOptions } from '../src/redis-store.js'
import { TIME_DOOR } from '../src/time-door.js'

/** A store whose time is the test's, and that asks Redis about everything: what is looked at is what the scripts decide. */
export function timedStore(url: string, clock: ManualClock, prefix: string): RedisStore {
  return new RedisStore(url, { prefix, rememberRefusalsMs: 0, [TIME_DOOR]: clock } as RedisStoreOptions)
}
