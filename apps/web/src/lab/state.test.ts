import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simulate } from './simulate.js'
import { usedIn } from './state.js'

const ORIGIN = Date.parse('2030-01-01T00:00:00Z')

const policies = [
  fixedWindow({ limit: 7, window: '1s' }),
  slidingWindowLog({ limit: 7, window: '1s' }),
  slidingWindowCounter({ limit: 7, window: '1s' }),
  tokenBucket({ capacity: 7, refillRate: '5/3s' }),
  leakyBucket({ capacity: 7, leakRate: '5/3s' }),
]

describe.each(policies.map((policy) => [policy.algorithm, policy] as const))(
  'what the page shows inside %s',
  (_name, policy) => {
    it('is what the core answers at that moment, whatever came before', () => {
      const times = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { maxLength: 60 })
      const moment = fc.integer({ min: 0, max: 6_000_000 })
      fc.assert(
        fc.property(times, moment, (timesUs, momentUs) => {
          const arrivals = timesUs.toSorted((a, b) => a - b).map((us) => us / 1000)
          const at = momentUs / 1000
          const clock = new ManualClock(ORIGIN)
          const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
          for (const time of arrivals.filter((each) => each <= at)) {
            clock.set(ORIGIN + time)
            limiter.check('visitor')
          }
          clock.set(ORIGIN + at)
          const used = usedIn(simulate(policy, ORIGIN, arrivals).stateAt(at))
          const { remaining } = limiter.peek('visitor')
          // Waits are whole microseconds, in which a bucket moves by less than this.
          const left = policy.limit - used
          return Math.floor(left - 1e-5) <= remaining && remaining <= Math.floor(left + 1e-5)
        }),
        { seed: 8, numRuns: 200, interruptAfterTimeLimit: 5000, endOnFailure: true },
      )
    })

    it('is untouched before the first request', () => {
      const { stateAt } = simulate(policy, ORIGIN, [500])
      expect(usedIn(stateAt(499.999))).toBe(0)
      expect(usedIn(stateAt(500))).toBe(1)
    })
  },
)
