export { withBackoff } from './backoff/backoff.js'
export type { BackoffOptions, BackoffWait } from './backoff/backoff-options.js'
export { type CachedFetch, type CacheOptions, withCache } from './cache/cache.js'
export type { Fetch } from './fetch.js'
export {
  createRemoteLimiter,
  type RemoteLimiter,
  type RemoteLimiterOptions,
} from './remote/remote-limiter.js'
export { createRemoteStore, type RemoteStore, type RemoteStoreOptions } from './remote/remote-store.js'
