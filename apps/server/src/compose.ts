import { type FailureEvent, MemoryStore, type Store, surviveFailures } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { StoreConfig } from './config/store.js'

/** The store that a configuration names. This is the one place of the service that knows which stores there are. */
export function composeStore(config: StoreConfig, onEvent: (event: FailureEvent) => void): Store {
  if (config.kind === 'memory') return new MemoryStore({ maxKeys: config.maxKeys })
  const { url, options, deadlineMs, rememberRefusalsMs } = config
  const store = new RedisStore(url, { ...options, rememberRefusalsMs })
  const { connectTimeoutMs = 1000 } = options
  return surviveFailures(store, { deadlineMs, connectTimeoutMs, onEvent })
}
