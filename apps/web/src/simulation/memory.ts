import type { AlgorithmName } from '@tidegate/core'

/*
 * Memory per key, measured by `npm run bench`. A test compares these figures with docs/benchmarks.md.
 */

/** In process memory: a key without its text, and the text of a short key. */
export const PROCESS_KEY_BYTES = 61.2
export const PROCESS_TEXT_BYTES = 32.3
/** In Redis: the key of a bucket without its text, and one unit of a full log. */
export const REDIS_KEY_BYTES = 135.8
export const REDIS_LOG_UNIT_BYTES = 13.5
/** Two doubles per timestamp (see docs/users/algorithms.md); not measured. */
const PROCESS_LOG_UNIT_BYTES = 16

/** Length of a key such as `rate_limiter:api:user:123456`. */
const REDIS_TEXT_BYTES = 28

export interface MemoryEstimate {
  readonly processBytes: number
  readonly redisBytes: number
}

/** Estimates the memory of `keys` keys, each with as many units as the policy can store. */
export function memoryFor(algorithm: AlgorithmName, limit: number, keys: number): MemoryEstimate {
  const units = algorithm === 'sliding-window-log' ? limit : 0
  return {
    processBytes: keys * (PROCESS_KEY_BYTES + PROCESS_TEXT_BYTES + units * PROCESS_LOG_UNIT_BYTES),
    redisBytes: keys * (REDIS_KEY_BYTES + REDIS_TEXT_BYTES + units * REDIS_LOG_UNIT_BYTES),
  }
}
