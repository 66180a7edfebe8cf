import type { ChildProcess } from 'node:child_process'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { report } from './src/figures.js'
import { startHealthyRedis } from './src/processes/healthy-redis.js'
import { compareLimiter, compareService, expectLimitHeld, figuresOf, inWords } from './src/slow-process.js'

/** See `block-loop.mjs`. */
const BLOCKED_MS = 200
const nodeArgs = ['--import', new URL('./src/processes/block-loop.mjs', import.meta.url).href]

/** Generous: on a busy machine a starved process takes long. */
const TIMEOUT_MS = 240_000

let redis: RedisServer
beforeEach(async () => {
  redis = await startHealthyRedis()
})
afterEach(() => redis?.stop())

it(
  'a process whose event loop is blocked for 200 ms at a time admits what the limit allows',
  async () => {
    async function slowDown(process: ChildProcess) {
      process.kill('SIGUSR2')
      return { end: async () => {} }
    }
    const library = await compareLimiter({ redisUrl: redis.url, nodeArgs, slowDown })
    const service = await compareService({ redisUrl: redis.url, nodeArgs, slowDown })
    report({
      name: 'blocked-event-loop',
      place: 14,
      fault: 'an event loop blocked for 200 ms at a time, 100 ms between, Redis idle',
      promise: 'admits at most 1 % more than without; no response `open`; no failed store reported',
      seen: `${inWords('library', library)}; ${inWords('service', service)}`,
      figures: { ...figuresOf('library', library), ...figuresOf('service', service) },
    })
    // The event loops were blocked.
    expect(library.slow.slowestMs).toBeGreaterThan(BLOCKED_MS / 2)
    expect(service.slow.slowestMs).toBeGreaterThan(BLOCKED_MS / 2)
    expectLimitHeld(library)
    expectLimitHeld(service)
  },
  TIMEOUT_MS,
)
