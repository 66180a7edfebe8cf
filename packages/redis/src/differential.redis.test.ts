import { ALGORITHM_NAMES, ManualClock } from '@tidegate/core'
import { ReferenceStore, randomTrace, runTrace } from '@tidegate/core/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../test/redis-server.js'
import { RedisStore, type RedisStoreOptions } from './redis-store.js'
import { TIME_DOOR } from './time-door.js'

// The TypeScript functions and the Lua functions, side by side on random traces with everything in them:
// clocks that step back, numbers that change, refunds, resets. Every field of every answer must be equal.

const TRACES = 50
const STEPS = 400
/** Seeds that have found a difference once, by algorithm. They are tried first. */
const KEPT: Record<string, number[]> = {}

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it.each(ALGORITHM_NAMES)(`%s: ${TRACES * STEPS} steps`, async (algorithm) => {
  const fresh = Math.floor(Math.random() * 2 ** 31)
  const seeds = [...(KEPT[algorithm] ?? []), ...Array.from({ length: TRACES }, (_, i) => fresh + i)]
  for (const seed of seeds) {
    const trace = randomTrace(seed, algorithm, { length: STEPS, clockStepsBack: true, numbersChange: true })
    const [tsClock, luaClock] = [new ManualClock(), new ManualClock()]
    const store = new RedisStore(server.url, {
      prefix: `d${seed}`,
      // What is compared is what the scripts decide, so every step asks.
      rememberRefusalsMs: 0,
      [TIME_DOOR]: luaClock,
    } as RedisStoreOptions)
    try {
      const expected = await runTrace(trace, new ReferenceStore(tsClock), tsClock)
      const actual = await runTrace(trace, store, luaClock)
      for (const [i, answer] of actual.entries()) {
        expect({ seed, step: i, ...trace.steps[i], answer }).toStrictEqual({
          seed,
          step: i,
          ...trace.steps[i],
          answer: expected[i],
        })
      }
    } finally {
      await store.close()
    }
  }
})
