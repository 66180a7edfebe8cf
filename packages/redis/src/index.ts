export type { IoredisClient, NodeRedisClient, NodeRedisCluster } from './connection/adapters.js'
export { type ConnectOptions, parseRedisUrl } from './connection/connect.js'
export { instancesOf, type SharedInstances } from './instances.js'
export { type ClusterOptions, RedisStore, type RedisStoreOptions } from './redis-store.js'
