import { show } from '../errors.js'

/** The message for a `store` option that is not a store. It names the line to write for a Redis URL or client. */
export function notAStore(value: unknown): string {
  if (typeof value === 'string' && /^(?:redis|rediss|valkey|unix)[+\w]*:/.test(value)) {
    return `store must be a Store, got a URL. Write ${IMPORT_REDIS} and store: new RedisStore('${withoutPassword(value)}').`
  }
  if (typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))) {
    const { name } = value
    return `store is the class ${name}; write store: new ${name}(${name === 'RedisStore' ? "'redis://localhost:6379'" : ''}).`
  }
  if (isRedisClient(value)) {
    return `store must be a Store, got a Redis client. Write ${IMPORT_REDIS} and store: new RedisStore(client).`
  }
  if (isHitStore(value)) {
    return `store must be a Store, got a store of another library. Write ${IMPORT_REDIS} and store: new RedisStore('redis://localhost:6379'), or store: new MemoryStore() to count in this process only.`
  }
  return `store must be a Store, got ${show(value)}. Write store: new MemoryStore(), or leave it out.`
}

const IMPORT_REDIS = "import { RedisStore } from '@tidegate/redis'"

/** ioredis and iovalkey have `evalsha`, node-redis has `evalSha`. */
function isRedisClient(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { evalsha, evalSha } = value as { evalsha?: unknown; evalSha?: unknown }
  return typeof evalsha === 'function' || typeof evalSha === 'function'
}

/** The stores of express-rate-limit have `increment`, those of @fastify/rate-limit `incr`. */
function isHitStore(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { increment, incr } = value as { increment?: unknown; incr?: unknown }
  return typeof increment === 'function' || typeof incr === 'function'
}

function withoutPassword(url: string): string {
  return url.replace(/^([^/]*\/\/)[^@]*@/, '$1…@')
}
