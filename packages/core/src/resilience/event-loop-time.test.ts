import { expect, it } from 'vitest'
import { createEventLoopTime, eventLoopTime, TICK_MS } from './event-loop-time.js'

function setUp() {
  let wallMs = 1234.5
  const loop = createEventLoopTime(() => wallMs)
  const startMs = loop.now()
  return {
    loop,
    /** Advances the wall clock and reads. */
    read(ms: number) {
      wallMs += ms
      return loop.now() - startMs
    },
    /** Advances the wall clock and ticks. */
    tick(ms: number) {
      wallMs += ms
      loop.tick()
      return loop.now() - startMs
    },
  }
}

it('counts steps of up to two ticks in full', () => {
  const { tick } = setUp()
  expect([tick(1), tick(0.5), tick(TICK_MS), tick(2 * TICK_MS)]).toStrictEqual([1, 1.5, 11.5, 31.5])
})

it('counts a blocked event loop as one tick, for any duration', () => {
  const { tick } = setUp()
  expect([tick(20.001), tick(200), tick(3_600_000)]).toStrictEqual([10, 20, 30])
})

it('advances by two ticks at most between ticks, also if it is read repeatedly', () => {
  const { read, tick } = setUp()
  expect([read(3), read(6), read(15), read(15)]).toStrictEqual([3, 9, 20, 20])
  expect(tick(1)).toBe(20)
})

it('never steps back', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const { read, tick } = setUp()
    let lastMs = 0
    for (let i = 0; i < 100; i++) {
      const advanceMs = ((seed * 7919 + i * 104_729) % 37) * (i % 5 === 0 ? 10 : 0.7)
      const nowMs = (seed + i) % 3 === 0 ? tick(advanceMs) : read(advanceMs)
      expect(nowMs).toBeGreaterThanOrEqual(lastMs)
      lastMs = nowMs
    }
  }
})

it('is one time for the whole process', () => {
  // A real clock, because later tests in this process have the same one.
  expect(eventLoopTime(() => performance.now())).toBe(eventLoopTime(() => performance.now() + 1))
})
