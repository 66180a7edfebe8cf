export { type ConnectOptions, parseRedisUrl } from './connect.js'
export type { IoredisClient, NodeRedisClient, NodeRedisCluster } from './connection.js'
export { RedisStore, type RedisStoreOptions } from './redis-store.js'
