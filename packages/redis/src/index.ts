export { type ConnectOptions, parseRedisUrl } from './connect.js'
export type { IoredisClient, NodeRedisClient, NodeRedisCluster } from './connection.js'
export { instancesOf, type SharedInstances } from './instances.js'
export { RedisStore, type RedisStoreOptions } from './redis-store.js'
