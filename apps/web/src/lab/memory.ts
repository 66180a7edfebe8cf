import type { AlgorithmName } from '@tidegate/core'

/*
 * What a key takes, as `npm run bench` measured it: docs/benchmarks.md has the runs, and a test holds these
 * figures to that page.
 */

/** In the memory of a process: beyond the key's text, and a short text itself. */
export const PROCESS_KEY_BYTES = 61.2
export const PROCESS_TEXT_BYTES = 32.3
/** In Redis: one bucket's key beyond its text, and one unit of a full log. */
export const REDIS_KEY_BYTES = 135.8
export const REDIS_LOG_UNIT_BYTES = 13.5
/** Two doubles for each moment, as docs/algorithms.md says; not measured. */
const PROCESS_LOG_UNIT_BYTES = 16

/** A key such as `rate_limiter:api:user:123456`. */
const REDIS_TEXT_BYTES = 28

export interface MemoryNeed {
  readonly processBytes: number
  readonly redisBytes: number
}

/** What so many keys take, each with as many units as the policy ever remembers. */
export function memoryFor(algorithm: AlgorithmName, limit: number, keys: number): MemoryNeed {
  const units = algorithm === 'sliding-window-log' ? limit : 0
  return {
    processBytes: keys * (PROCESS_KEY_BYTES + PROCESS_TEXT_BYTES + units * PROCESS_LOG_UNIT_BYTES),
    redisBytes: keys * (REDIS_KEY_BYTES + REDIS_TEXT_BYTES + units * REDIS_LOG_UNIT_BYTES),
  }
}
