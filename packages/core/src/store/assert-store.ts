import { redactUrl, showKeys } from '../errors.js'
import { optionInvalid } from '../options.js'
import type { Store } from './store.js'

/**
 * Throws `OPTION_INVALID` if a value is not a store, with the line to write instead. `caller` is the name of a function
 * whose argument is the store. Default: the store is an option.
 */
export function assertStore(value: unknown, caller?: string): asserts value is Store {
  if (typeof (value as Partial<Store> | null | undefined)?.check === 'function' && !isLimiter(value)) return
  throw optionInvalid('store', `store must be a Store, ${adviceFor(value, caller)}`)
}

function adviceFor(value: unknown, caller: string | undefined): string {
  const write = (store: string) => (caller === undefined ? `store: ${store}` : `${caller}(${store})`)
  if (typeof value === 'string' && /^(?:redis|rediss|valkey|unix)[+\w]*:/.test(value)) {
    return `got a URL. Write ${IMPORT_REDIS} and ${write(`new RedisStore('${redactUrl(value)}')`)}.`
  }
  if (typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))) {
    const { name } = value
    const url = name === 'RedisStore' ? "'redis://localhost:6379'" : ''
    return `got the class ${name}. Write ${write(`new ${name}(${url})`)}.`
  }
  if (isLimiter(value)) return `got a limiter. Write ${write('limiter.store')}.`
  if (isRedisClient(value)) {
    return `got a Redis client. Write ${IMPORT_REDIS} and ${write('new RedisStore(client)')}.`
  }
  if (isHitStore(value)) {
    return `got a store of another library. Write ${IMPORT_REDIS} and ${write("new RedisStore('redis://localhost:6379')")}, or ${write('new MemoryStore()')} to count in this process only.`
  }
  const alternative = caller === undefined ? ', or leave it out' : ''
  return `got ${showKeys(value)}. Write ${write('new MemoryStore()')}${alternative}.`
}

const IMPORT_REDIS = "import { RedisStore } from '@tidegate/redis'"

/** A limiter has a `check` too, which takes a key instead of a request. */
function isLimiter(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'policy' in value && 'check' in value
}

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
