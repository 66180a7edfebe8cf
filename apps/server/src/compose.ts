import { type BreakerState, type FailureEvent, MemoryStore, type Store, withFallback } from '@tidegate/core'
import { instancesOf, RedisStore } from '@tidegate/redis'
import { commandsOf } from '@tidegate/redis/store-commands'
import type { StoreConfig } from './config/store.js'
import { type Instance, type Instances, onlyThis, sharedBy } from './live/instances.js'
import { inMemory, inRedis, type NaiveCounter } from './race/naive-counter.js'

/** A store, and what only whoever made it knows how to do with it. */
export interface Composed {
  readonly store: Store
  /** Who else uses it. This one is listed from now on. */
  readonly instances: Instances
  /** What the race runs against it. */
  readonly counter: NaiveCounter
  breakerState(): BreakerState
}

/** The store that a configuration names. This is the one place of the service that knows which stores there are. */
export function composeStore(
  config: StoreConfig,
  self: Instance,
  onEvent: (event: FailureEvent) => void,
): Composed {
  if (config.kind === 'memory') {
    const store = new MemoryStore({ maxKeys: config.maxKeys })
    return { store, instances: onlyThis(self), counter: inMemory(), breakerState: () => 'closed' }
  }
  const { url, options, deadlineMs, rememberRefusalsMs } = config
  const redis = new RedisStore(url, { ...options, rememberRefusalsMs })
  const { connectTimeoutMs = 1000 } = options
  const store = withFallback(redis, { deadlineMs, connectTimeoutMs, onEvent })
  return {
    store,
    breakerState: () => store.breakerState,
    instances: sharedBy(self, instancesOf(redis)),
    counter: inRedis(commandsOf(redis)),
  }
}
