import type { ChildProcess } from 'node:child_process'
import { expect, it } from 'vitest'
import { report } from './src/figures.js'
import { useHealthyRedis } from './src/processes/healthy-redis.js'
import {
  compareLimiter,
  compareService,
  expectLimitHeld,
  figuresOf,
  inWords,
  SLOW_PROCESS_TIMEOUT_MS,
} from './src/slow-process.js'

/** See `block-loop.mjs`. */
const BLOCKED_MS = 200
const nodeArgs = ['--import', new URL('./src/processes/block-loop.mjs', import.meta.url).href]

const redis = useHealthyRedis()

it(
  'a process whose event loop is blocked for 200 ms at a time admits at most the limit',
  async () => {
    async function slowDown(process: ChildProcess) {
      process.kill('SIGUSR2')
      return { end: async () => {} }
    }
    const library = await compareLimiter({ redisUrl: redis().url, nodeArgs, slowDown })
    const service = await compareService({ redisUrl: redis().url, nodeArgs, slowDown })
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
  SLOW_PROCESS_TIMEOUT_MS,
)
