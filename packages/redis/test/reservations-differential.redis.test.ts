import { type AlgorithmName, type FullStore, ManualClock } from '@tidegate/core'
import { ReferenceStore, randomReservationTrace, runReservationTrace } from '@tidegate/core/testing'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { timedStore } from './timed-store.js'

// Compares the TypeScript and the Lua functions on random traces of reservations.

const TRACES = 25
const STEPS = 300
/** Seeds that found a difference before, by algorithm. They are tried first. */
const KEPT: Partial<Record<AlgorithmName, number[]>> = {}

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it.each(['fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket'] as const)(
  `%s: ${TRACES * STEPS} steps`,
  async (algorithm) => {
    const fresh = Math.floor(Math.random() * 2 ** 31)
    const seeds = [...(KEPT[algorithm] ?? []), ...Array.from({ length: TRACES }, (_, i) => fresh + i)]
    let settled = 0
    for (const seed of seeds) {
      const steps = randomReservationTrace(seed, algorithm, STEPS)
      const [tsClock, luaClock] = [new ManualClock(), new ManualClock()]
      const store = timedStore(server.url, luaClock, `r${seed}`)
      try {
        const reference = new ReferenceStore(tsClock) as unknown as FullStore
        const expected = await runReservationTrace(steps, reference, tsClock)
        const actual = await runReservationTrace(steps, store as unknown as FullStore, luaClock)
        for (const [step, answer] of actual.entries()) {
          expect({ seed, step, ...steps[step], answer }).toStrictEqual({
            seed,
            step,
            ...steps[step],
            answer: expected[step],
          })
          if (Array.isArray(answer) && answer[0].settled) settled++
        }
      } finally {
        await store.close()
      }
    }
    expect(settled).toBeGreaterThan(TRACES)
  },
  120_000,
)
