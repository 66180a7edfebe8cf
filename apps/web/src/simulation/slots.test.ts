import { concurrency } from '@tidegate/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { simulateSlots } from './slots.js'
import { valueAt } from './steps.js'

const ORIGIN = Date.parse('2030-01-01T00:00:00Z')
const axis = { originMs: ORIGIN, spanMs: 60_000 }

it('a request holds its slot for its duration, and requests are denied while all slots are held', () => {
  const policy = concurrency({ limit: 2, ttl: '1m' })
  const arrivals = [0, 1000, 2000, 4999, 5000, 5500, 6000]
  const { admittedMs, inUse } = simulateSlots(policy, { ...axis, arrivals, durationMs: 5000 })
  expect(admittedMs).toStrictEqual([0, 1000, 5000, 6000])
  const moments = [0, 999, 1000, 5000, 5500, 6000, 9999, 10_000, 11_000]
  expect(moments.map((at) => valueAt(inUse, at))).toStrictEqual([1, 1, 2, 2, 2, 2, 2, 1, 0])
})

it('never runs more requests at once than the limit, and denies only while all slots are held', () => {
  const times = fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 80 })
  const numbers = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    durationMs: fc.integer({ min: 100, max: 3000 }),
  })
  fc.assert(
    fc.property(times, numbers, (timesUs, { limit, durationMs }) => {
      const arrivals = timesUs.toSorted((a, b) => a - b).map((us) => us / 1000)
      const policy = concurrency({ limit, ttl: '1m' })
      const { admittedMs } = simulateSlots(policy, { ...axis, arrivals, durationMs })
      // Decided once more, from the times alone.
      const ends: number[] = []
      const expected = arrivals.filter((at) => {
        const running = ends.filter((end) => end > at + 0.0004).length
        if (running < limit) ends.push(at + durationMs)
        return running < limit
      })
      expect(admittedMs).toStrictEqual(expected)
    }),
    { seed: 8, numRuns: 200, endOnFailure: true },
  )
})
