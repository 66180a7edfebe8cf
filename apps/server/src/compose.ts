import {
  type BreakerState,
  type FailureEvent,
  type FullStore,
  type LeaseCounts,
  MemoryStore,
  withFallback,
  withLeases,
} from '@tidegate/core'
import { instancesOf, RedisStore } from '@tidegate/redis'
import { commandsOf } from '@tidegate/redis/store-commands'
import type { StoreConfig } from './config/sections/store.js'
import { type Instance, type InstanceRegistry, registerInstance, singleInstance } from './live/instances.js'
import { memoryNaiveCounter, type NaiveCounter, redisNaiveCounter } from './race/naive-counter.js'

/** A store, and the functions that depend on its kind. */
export interface StoreParts {
  readonly store: FullStore
  /** The instances that share the store, including this one. */
  readonly instanceRegistry: InstanceRegistry
  /** The naive counter for the race. */
  readonly counter: NaiveCounter
  breakerState(): BreakerState
  /** Undefined for a store in this process, which has no leases. */
  leaseCounts(): LeaseCounts | undefined
}

/** Creates the store of a configuration. Only this file depends on the kinds of stores. */
export function composeStore(
  config: StoreConfig,
  self: Instance,
  onEvent: (event: FailureEvent) => void,
): StoreParts {
  if (config.kind === 'memory') {
    const store = new MemoryStore({ maxKeys: config.maxKeys })
    return {
      store,
      instanceRegistry: singleInstance(self),
      counter: memoryNaiveCounter(),
      breakerState: () => 'closed',
      leaseCounts: () => undefined,
    }
  }
  const { url, options, deadlineMs, denialCacheMs } = config
  const redis = new RedisStore(url, { ...options, denialCacheMs })
  const { connectTimeoutMs = 1000 } = options
  const fallback = withFallback(redis, { deadlineMs, connectTimeoutMs, onEvent })
  const instanceRegistry = registerInstance(self, instancesOf(redis))
  const store = withLeases(fallback, { instances: () => Math.max(1, instanceRegistry.list().length) })
  return {
    store,
    breakerState: () => fallback.breakerState,
    leaseCounts: () => store.leases,
    instanceRegistry,
    counter: redisNaiveCounter(commandsOf(redis)),
  }
}
