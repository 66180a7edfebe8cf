import { describe, expect, it } from 'vitest'
import { ManualClock } from '../clock.js'
import { createLimiter } from '../limiter/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'

// Common textbook examples of rate limiting, with their exact results.

function limiterAt(startMs: number, policy: Policy) {
  const clock = new ManualClock(startMs)
  return { clock, limiter: createLimiter({ policy, store: new MemoryStore({ clock }) }) }
}

const at = (time: string) => Date.parse(`2026-01-01T${time}Z`)

describe('the boundary: 100 an hour, 100 requests at 09:59:50 and 100 at 10:00:10', () => {
  it.each([
    [fixedWindow({ limit: 100, window: '1h' }), 200],
    [slidingWindowLog({ limit: 100, window: '1h' }), 100],
    // ten seconds into the hour, floor(100 × 3590 ÷ 3600) = 99 units of the last hour still count
    [slidingWindowCounter({ limit: 100, window: '1h' }), 101],
    [tokenBucket({ capacity: 100, refillRate: '100/1h' }), 100],
    [leakyBucket({ capacity: 100, leakRate: '100/1h' }), 100],
  ] as const)('%o allows %d in 20 s', (policy, expected) => {
    const { clock, limiter } = limiterAt(at('09:59:50'), policy)
    let allowed = 0
    for (const time of ['09:59:50', '10:00:10']) {
      clock.set(at(time))
      for (let i = 0; i < 100; i++) if (limiter.check('k').allowed) allowed++
    }
    expect(allowed).toBe(expected)
  })
})

describe('the counter', () => {
  it('80 in the last window, 40 in this one, half of it over: 80 × 0.5 + 40 = 80 used, 20 left', () => {
    const { clock, limiter } = limiterAt(at('09:30:00'), slidingWindowCounter({ limit: 100, window: '1h' }))
    limiter.check('k', 80)
    clock.set(at('10:30:00'))
    expect(limiter.check('k', 40)).toMatchObject({ allowed: true, remaining: 20 })
  })

  it('8 in the last window, 3 in this one: 10 % in, 8 × 0.9 + 3 = 10.2 and the next is denied; 50 % in, 7 used', () => {
    const policy = slidingWindowCounter({ limit: 10, window: '1m' })
    const { clock, limiter } = limiterAt(at('10:00:00'), policy)
    limiter.check('k', 8)
    clock.set(at('10:01:06'))
    limiter.check('k', 3)
    expect(limiter.check('k')).toMatchObject({ allowed: false, remaining: 0 })
    clock.set(at('10:01:30'))
    expect(limiter.peek('k').remaining).toBe(3)
  })
})

describe('the buckets', () => {
  it('a leak of 0.5/s drains exactly 3 in 6 s, with or without checks in between', () => {
    for (const looks of [[6000], [3000, 6000], [1, 1999, 2000, 3000, 5999, 6000]]) {
      const { clock, limiter } = limiterAt(at('10:00:00'), leakyBucket({ capacity: 10, leakRate: 0.5 }))
      limiter.check('k', 9)
      for (const ms of looks) {
        clock.set(at('10:00:00') + ms)
        limiter.check('k', 10)
      }
      expect(limiter.peek('k').remaining).toBe(4)
    }
  })

  it('50 tokens and 5 s at 10/s make 100 tokens', () => {
    const { clock, limiter } = limiterAt(at('10:00:00'), tokenBucket({ capacity: 100, refillRate: 10 }))
    limiter.check('k', 50)
    clock.advance(4999.999)
    expect(limiter.peek('k').remaining).toBe(99)
    clock.advance(0.001)
    expect(limiter.peek('k').remaining).toBe(100)
  })

  it('one unit in three years, capacity 90: the wait is exact although its end passes 2^53', () => {
    for (const policy of [
      tokenBucket({ capacity: 90, refillRate: 1e-8 }),
      leakyBucket({ capacity: 90, leakRate: 1e-8 }),
    ]) {
      const { limiter } = limiterAt(at('10:00:00') + 0.001, policy)
      expect(limiter.check('k', 90).resetAfterMs).toBe(9_000_000_000_000)
    }
  })

  it('token and leaky buckets with the same numbers allow the same requests; the leaky bucket delays them', () => {
    const token = limiterAt(0, tokenBucket({ capacity: 3, refillRate: 1 })).limiter
    const leaky = limiterAt(0, leakyBucket({ capacity: 3, leakRate: 1 })).limiter
    const four = [1, 2, 3, 4]
    expect(four.map(() => token.check('k')).map((d) => [d.allowed, d.delayMs])).toStrictEqual([
      [true, 0],
      [true, 0],
      [true, 0],
      [false, 0],
    ])
    expect(four.map(() => leaky.check('k')).map((d) => [d.allowed, d.delayMs])).toStrictEqual([
      [true, 0],
      [true, 1000],
      [true, 2000],
      [false, 0],
    ])
  })
})

it('counts two requests in the same microsecond as two', () => {
  const { limiter } = limiterAt(0, slidingWindowLog({ limit: 2, window: '1s' }))
  expect([1, 2, 3].map(() => limiter.check('k').allowed)).toStrictEqual([true, true, false])
})
