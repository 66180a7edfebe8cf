import { describe, expect, it } from 'vitest'
import { shareOf } from '../resilience/share.js'
import {
  definePolicy,
  fixedWindow,
  leakyBucket,
  sameNumbers,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from './index.js'

const numbers = { limit: 100, window: '1m' } as const

describe('a policy with a lease', () => {
  it.each([
    ['fixed-window', fixedWindow({ ...numbers, lease: true }), 100, 60_000_000],
    ['sliding-window-counter', slidingWindowCounter({ ...numbers, lease: true }), 100, 60_000_000],
    // Units of a log may be spent up to maxAge after they were taken.
    ['sliding-window-log', slidingWindowLog({ ...numbers, lease: true }), 100, 60_100_000],
  ])('%s counts with its limit for its window', (_, policy, limit, windowUs) => {
    expect([policy.limit, policy.windowUs, policy.window]).toStrictEqual([limit, windowUs, 60_000])
    expect(policy.lease).toStrictEqual({ maxAge: 100, share: 0.05 })
  })

  it.each([
    ['10/1s', '100ms', 99], // 1 token within maxAge
    ['10/1s', '150ms', 98], // 1.5, rounded up
    ['1/1h', '1ms', 99],
    [500, '100ms', 50],
  ] as const)(
    'a token bucket refilled by %s counts without the tokens of %s',
    (refillRate, maxAge, limit) => {
      const policy = tokenBucket({ capacity: 100, refillRate, lease: { maxAge } })
      expect([policy.capacity, policy.limit, policy.full]).toStrictEqual([100, limit, limit * policy.d])
      expect(policy.spanUs).toBe(Math.floor(policy.full / policy.n))
    },
  )

  it('a token bucket must hold twice what is refilled within maxAge', () => {
    expect(() => tokenBucket({ capacity: 99, refillRate: 500, lease: true })).toThrow(
      /capacity of at least 100/,
    )
    expect(() => tokenBucket({ capacity: 1, refillRate: '1/1h', lease: true })).toThrow(
      /capacity of at least 2/,
    )
    expect(tokenBucket({ capacity: 2, refillRate: '1/1h', lease: true }).limit).toBe(1)
  })

  it('has another generated name and other numbers', () => {
    const policies = [
      fixedWindow(numbers),
      fixedWindow({ ...numbers, lease: true }),
      fixedWindow({ ...numbers, lease: { maxAge: '50ms' } }),
      fixedWindow({ ...numbers, lease: { share: 0.1 } }),
    ]
    expect(new Set(policies.map(({ name }) => name)).size).toBe(4)
    for (const [i, one] of policies.entries()) {
      for (const [j, other] of policies.entries()) expect(sameNumbers(one, other)).toBe(i === j)
    }
    expect(sameNumbers(policies[1]!, fixedWindow({ ...numbers, lease: { maxAge: 100, share: 0.05 } }))).toBe(
      true,
    )
  })

  it('survives JSON, and shows no lease if it has none', () => {
    for (const policy of [
      slidingWindowLog({ ...numbers, lease: { maxAge: '50ms', share: 0.2 } }),
      tokenBucket({ capacity: 100, refillRate: '10/1s', lease: true }),
    ]) {
      const copy = definePolicy(JSON.parse(JSON.stringify(policy)))
      expect(copy).toStrictEqual(policy)
      expect([copy.limit, sameNumbers(copy, policy)]).toStrictEqual([policy.limit, true])
    }
    expect(JSON.stringify(fixedWindow({ ...numbers, lease: false }))).not.toContain('lease')
  })

  it('has a local share without a lease', () => {
    const share = shareOf(tokenBucket({ capacity: 100, refillRate: 500, lease: true, instances: 10 }))
    expect([share.limit, share.leaseUs]).toStrictEqual([5, 0])
  })

  it.each([
    ['nope', /must be true or \{ maxAge, share \}/],
    [null, /must be true/],
    [{ age: 1 }, /has no "age"/],
    [{ maxAge: 0 }, /maxAge of 1 ms to 60 s/],
    [{ maxAge: '61s' }, /maxAge of 1 ms to 60 s/],
    [{ maxAge: 'soon' }, /maxAge of 1 ms to 60 s/],
    [{ share: 0 }, /share above 0/],
    [{ share: 1.1 }, /share above 0/],
    [{ share: '5%' }, /share above 0/],
  ])('rejects lease: %j', (lease, message) => {
    const make = () => fixedWindow({ ...numbers, lease: lease as never })
    expect(make).toThrow(message)
    expect(make).toThrow(expect.objectContaining({ code: 'POLICY_INVALID', field: 'lease' }))
  })

  it('rejects a maxAge above the window, and a lease of a leaky bucket', () => {
    expect(() => fixedWindow({ limit: 1, window: '99ms', lease: true })).toThrow(/at most the window, 99 ms/)
    const leaky = { capacity: 1, leakRate: 1, lease: true }
    expect(() => leakyBucket(leaky)).toThrow(/leaky-bucket has no "lease"/)
  })
})
