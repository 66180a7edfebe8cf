import {
  ALGORITHM_NAMES,
  fixedWindow,
  leakyBucket,
  ManualClock,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
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

it('calls with everything in them decide as one step after the other would', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = randomOf(seed)
  const clock = new ManualClock(Date.parse('2030-01-01T10:00:00Z'))
  const reference = new ReferenceStore(clock)
  const store = new RedisStore(server.url, {
    prefix: `b${seed}`,
    rememberRefusalsMs: 0,
    [TIME_DOOR]: clock,
  } as RedisStoreOptions)
  const policies = [
    fixedWindow({ limit: 9, window: '7s', name: 'fixed' }),
    slidingWindowLog({ limit: 9, window: '7s', name: 'log' }),
    slidingWindowCounter({ limit: 9, window: '7s', name: 'counter' }),
    tokenBucket({ capacity: 9, refillRate: '3/2s', name: 'token' }),
    leakyBucket({ capacity: 9, leakRate: '3/2s', name: 'leaky' }),
  ]
  const times: number[] = [0]
  function step(): (on: Store) => unknown {
    const one = () => ({ policy: policies[random(5)]!, key: `k${random(3)}`, cost: 1 + random(3) })
    const request = one()
    const kind = random(10)
    if (kind < 4) return (on) => on.check(request)
    if (kind < 5) return (on) => on.peek(request)
    if (kind < 6) return (on) => on.reset(request)
    const timeMs = times[times.length - 1 - random(Math.min(times.length, 8))]!
    if (kind < 7) return (on) => on.refund({ ...request, timeMs })
    const several = Array.from({ length: 2 + random(4) }, one)
    return (on) => on.take(several)
  }
  try {
    for (let round = 0; round < 300; round++) {
      const steps = Array.from({ length: 1 + random(30) }, step)
      const actual = await Promise.all(steps.map((of) => of(store)))
      const expected: unknown[] = []
      for (const of of steps) expected.push(await of(reference))
      expect({ seed, round, answers: actual }).toStrictEqual({ seed, round, answers: expected })
      times.push(clock.nowMs())
      clock.advance(random(20) === 0 ? -random(20_000) : random(1500))
    }
  } finally {
    await store.close()
  }
})

/** Whole numbers from 0 to below `n`, the same for the same seed. */
function randomOf(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}
