import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { TidegateError } from '../errors.js'
import {
  concurrency,
  definePolicy,
  fixedWindow,
  leakyBucket,
  sameNumbers,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from './index.js'

describe('a policy', () => {
  it.each([
    fixedWindow({ limit: 100, window: '1m' }),
    slidingWindowLog({ limit: 100, window: 1500, name: 'log' }),
    slidingWindowCounter({ limit: 1_000_000_000, window: '366d' }),
    tokenBucket({ capacity: 100, refillRate: '100/1m', name: 'api' }),
    leakyBucket({ capacity: 3, leakRate: 0.1 }),
    fixedWindow({ limit: 5, window: '15m', onStoreFailure: 'closed' }),
    tokenBucket({ capacity: 100, refillRate: 10, onStoreFailure: 'local', instances: 4 }),
    fixedWindow({ limit: 10 ** 15 - 1, window: 'month', timeZone: 'Asia/Seoul' }),
    fixedWindow({ limit: 5, window: '15m', start: 'first-request', countDenied: true, blockFor: '1h' }),
    slidingWindowLog({ limit: 5, window: '15m', countDenied: true }),
    leakyBucket({ capacity: 3, leakRate: 1, blockFor: '1h' }),
    concurrency({ limit: 10 }),
  ])('%o can be serialized and parsed', (policy) => {
    const back = definePolicy(JSON.parse(JSON.stringify(policy)))
    expect(back).toStrictEqual(policy)
    expect(Object.getOwnPropertyDescriptors(back)).toStrictEqual(Object.getOwnPropertyDescriptors(policy))
  })

  it('serializes only its numbers', () => {
    expect(
      JSON.parse(JSON.stringify(tokenBucket({ capacity: 10, refillRate: '100/1m', name: 'api' }))),
    ).toStrictEqual({
      algorithm: 'token-bucket',
      name: 'api',
      capacity: 10,
      refillRate: '100/1m',
      onStoreFailure: 'open',
      instances: 1,
    })
    expect(JSON.parse(JSON.stringify(fixedWindow({ limit: 10, window: '1m', name: 'api' })))).toStrictEqual({
      algorithm: 'fixed-window',
      name: 'api',
      limit: 10,
      window: 60_000,
      onStoreFailure: 'open',
      instances: 1,
    })
  })

  it('serializes an option only if it differs from its default', () => {
    const serialized = (policy: object) => JSON.parse(JSON.stringify(policy))
    expect(
      serialized(fixedWindow({ limit: 10, window: '1m', name: 'api', start: 'epoch', countDenied: false })),
    ).toStrictEqual(serialized(fixedWindow({ limit: 10, window: '1m', name: 'api' })))
    expect(
      serialized(
        fixedWindow({
          limit: 5,
          window: '15m',
          name: 'login',
          start: 'first-request',
          countDenied: true,
          blockFor: '1h',
        }),
      ),
    ).toStrictEqual({
      algorithm: 'fixed-window',
      name: 'login',
      limit: 5,
      window: 900_000,
      onStoreFailure: 'open',
      instances: 1,
      start: 'first-request',
      countDenied: true,
      blockFor: 3_600_000,
    })
    expect(serialized(fixedWindow({ limit: 5, window: 'day', name: 'daily' }))).toMatchObject({
      window: 'day',
      timeZone: 'UTC',
    })
    expect(serialized(concurrency({ limit: 5, name: 'jobs' }))).toMatchObject({ limit: 5, ttl: 30_000 })
  })

  it('derives numbers that JSON does not show', () => {
    expect(fixedWindow({ limit: 5, window: 'month' })).toMatchObject({
      windowKind: 'calendar',
      windowUs: 31 * 86_400_000_000,
      calendar: { unit: 'month', timeZone: 'UTC' },
    })
    expect(fixedWindow({ limit: 5, window: '1m', start: 'first-request' }).windowKind).toBe('first-request')
    expect(tokenBucket({ capacity: 5, refillRate: 1, blockFor: '15m' }).blockForUs).toBe(900_000_000)
    expect(concurrency({ limit: 5, ttl: '1m' })).toMatchObject({ ttlUs: 60_000_000, blockForUs: 0 })
  })

  it('has the defaults onStoreFailure: open and instances: 1', () => {
    expect(fixedWindow({ limit: 10, window: '1m' })).toMatchObject({ onStoreFailure: 'open', instances: 1 })
    const login = { limit: 5, window: '15m', onStoreFailure: 'local', instances: 3 } as const
    expect(slidingWindowLog(login)).toMatchObject({ onStoreFailure: 'local', instances: 3 })
  })

  it('has the same numbers and generated name for every onStoreFailure', () => {
    const open = fixedWindow({ limit: 10, window: '1m' })
    const local = fixedWindow({ limit: 10, window: '1m', onStoreFailure: 'local', instances: 3 })
    expect(local.name).toBe(open.name)
    expect(sameNumbers(open, local)).toBe(true)
    expect(sameNumbers(open, fixedWindow({ limit: 11, window: '1m' }))).toBe(false)
  })

  it('differs from every policy with another option, in its numbers and its generated name', () => {
    const window = { limit: 10, window: '1d' } as const
    const policies = [
      fixedWindow(window),
      fixedWindow({ ...window, start: 'first-request' }),
      fixedWindow({ ...window, countDenied: true }),
      fixedWindow({ ...window, blockFor: '1m' }),
      fixedWindow({ ...window, blockFor: '2m' }),
      fixedWindow({ limit: 10, window: 'day' }),
      fixedWindow({ limit: 10, window: 'week' }),
      fixedWindow({ limit: 10, window: 'day', timeZone: 'Etc/GMT+1' }),
      fixedWindow({ limit: 10, window: 'day', timeZone: 'Etc/GMT-1' }),
      slidingWindowLog({ ...window, countDenied: true }),
      tokenBucket({ capacity: 10, refillRate: 1 }),
      tokenBucket({ capacity: 10, refillRate: 1, blockFor: '1m' }),
      concurrency({ limit: 10 }),
      concurrency({ limit: 10, ttl: '1m' }),
    ]
    expect(new Set(policies.map(({ name }) => name)).size).toBe(policies.length)
    for (const policy of policies)
      expect(policies.filter((other) => sameNumbers(policy, other))).toStrictEqual([policy])
  })

  it('has a generated name of at most 64 characters, different for different numbers', () => {
    const longest = (limit: number) =>
      fixedWindow({
        limit,
        window: 'month',
        timeZone: 'America/Argentina/ComodRivadavia',
        countDenied: true,
        blockFor: '366d',
      }).name
    expect(longest(10 ** 15 - 1)).toMatch(/^fixed-window-999999999999999-month-[a-z0-9_-]{1,29}$/)
    expect(longest(10 ** 15 - 2)).not.toBe(longest(10 ** 15 - 1))
  })

  it('has the same properties in the same order for every set of options', () => {
    const names = (policy: object) => Reflect.ownKeys(policy)
    const withoutOptions = tokenBucket({ capacity: 10, refillRate: 1 })
    const full = tokenBucket({
      instances: 2,
      onStoreFailure: 'closed',
      name: 'x',
      refillRate: 1,
      capacity: 10,
    })
    expect(names(full)).toStrictEqual(names(withoutOptions))
  })

  it('has a window of whole milliseconds, though doubles make 1004.9999999999999 of 1.005 s', () => {
    expect(fixedWindow({ limit: 10, window: '1.005s' })).toMatchObject({ window: 1005 })
  })

  it('has a limit of at most 100,000 if it is a log', () => {
    expect(slidingWindowLog({ limit: 100_000, window: '1d' })).toMatchObject({ limit: 100_000 })
  })

  it('is frozen', () => {
    const policy = fixedWindow({ limit: 10, window: '1m' })
    expect(Object.isFrozen(policy)).toBe(true)
  })

  it('without a name is named by its algorithm and numbers', () => {
    const names = [
      fixedWindow({ limit: 10, window: '1m' }),
      fixedWindow({ limit: 10, window: '2m' }),
      fixedWindow({ limit: 11, window: '1m' }),
      slidingWindowLog({ limit: 10, window: '1m' }),
      tokenBucket({ capacity: 10, refillRate: 1 }),
      tokenBucket({ capacity: 10, refillRate: 2 }),
      leakyBucket({ capacity: 10, leakRate: 2 }),
    ].map((policy) => policy.name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/)
    expect(fixedWindow({ limit: 10, window: 60_000 }).name).toBe(
      fixedWindow({ limit: 10, window: '1m' }).name,
    )
    expect(tokenBucket({ capacity: 10, refillRate: '60/1m' }).name).toBe(
      tokenBucket({ capacity: 10, refillRate: 1 }).name,
    )
    // the longest possible names
    expect(
      leakyBucket({ capacity: 1_000_000_000, leakRate: '999999/1009ms' }).name.length,
    ).toBeLessThanOrEqual(64)
  })
})

describe('rejects an invalid policy, with the accepted values in the message', () => {
  const ok = { limit: 10, window: '1m' } as const
  it.each([
    ['limit 0', () => fixedWindow({ ...ok, limit: 0 }), 'limit', 'limit: 100'],
    [
      'limit 1.5',
      () => fixedWindow({ ...ok, limit: 1.5 }),
      'limit',
      'whole number from 1 to 999,999,999,999,999',
    ],
    [
      'a counter too large',
      () => slidingWindowCounter({ ...ok, limit: 1e9 + 1 }),
      'limit',
      '1 to 1,000,000,000',
    ],
    ['limit as text', () => fixedWindow({ ...ok, limit: '10' as never }), 'limit', 'got "10"'],
    ['limit too large', () => fixedWindow({ ...ok, limit: 10 ** 15 }), 'limit', '999,999,999,999,999'],
    ['a log too long', () => slidingWindowLog({ ...ok, limit: 100_001 }), 'limit', 'sliding-window-counter'],
    ['a log of an object', () => slidingWindowLog({ ...ok, limit: Object.create(null) }), 'limit', 'got {}'],
    ['no window', () => fixedWindow({ limit: 10 } as never), 'window', "write window: '1m'"],
    ['window 0', () => fixedWindow({ ...ok, window: 0 }), 'window', '1 ms to 366 d'],
    ['window negative', () => fixedWindow({ ...ok, window: -5 }), 'window', 'got -5'],
    ['window NaN', () => fixedWindow({ ...ok, window: Number.NaN }), 'window', 'got NaN'],
    ['window of a fraction', () => fixedWindow({ ...ok, window: '0.5ms' }), 'window', 'whole milliseconds'],
    ['window too long', () => fixedWindow({ ...ok, window: '367d' }), 'window', '366 d'],
    ['window without a unit', () => fixedWindow({ ...ok, window: '60' as never }), 'window', "'1m'"],
    ['window in words', () => fixedWindow({ ...ok, window: '1 minute' as never }), 'window', "'1m'"],
    ['an unknown unit', () => fixedWindow({ ...ok, window: 'decade' }), 'window', "'month'"],
    ['a day for a log', () => slidingWindowLog({ ...ok, window: 'day' }), 'window', "'1d'"],
    ['an unknown start', () => fixedWindow({ ...ok, start: 'now' as never }), 'start', "'first-request'"],
    [
      'a start of a calendar window',
      () => fixedWindow({ limit: 10, window: 'day', start: 'first-request' }),
      'start',
      "window: '1d'",
    ],
    ['a time zone of minutes', () => fixedWindow({ ...ok, timeZone: 'UTC' }), 'timeZone', "window: 'day'"],
    [
      'an unknown time zone',
      () => fixedWindow({ limit: 10, window: 'day', timeZone: 'Asia/Soul' }),
      'timeZone',
      "'Asia/Seoul'",
    ],
    [
      'a time zone that is not text',
      () => fixedWindow({ limit: 10, window: 'day', timeZone: 9 as never }),
      'timeZone',
      'got 9',
    ],
    ['countDenied 1', () => fixedWindow({ ...ok, countDenied: 1 as never }), 'countDenied', 'got 1'],
    [
      'countDenied for a bucket',
      () => tokenBucket({ capacity: 10, refillRate: 1, countDenied: true } as never),
      'countDenied',
      'capacity, refillRate, blockFor',
    ],
    ['blockFor 0', () => fixedWindow({ ...ok, blockFor: 0 }), 'blockFor', "'15m'"],
    ['blockFor too long', () => fixedWindow({ ...ok, blockFor: '367d' }), 'blockFor', '366 d'],
    [
      'blockFor for slots',
      () => concurrency({ limit: 10, blockFor: '1m' } as never),
      'blockFor',
      'limit, ttl, name',
    ],
    ['too many slots', () => concurrency({ limit: 100_001 }), 'limit', '1 to 100,000'],
    ['a ttl too short', () => concurrency({ limit: 1, ttl: '999ms' }), 'ttl', '1 s to 1 d'],
    ['a ttl too long', () => concurrency({ limit: 1, ttl: '25h' }), 'ttl', '1 s to 1 d'],
    ['no rate', () => tokenBucket({ capacity: 10 } as never), 'refillRate', "'100/1m'"],
    ['rate 0', () => tokenBucket({ capacity: 10, refillRate: 0 }), 'refillRate', 'above 0'],
    [
      'rate infinite',
      () => leakyBucket({ capacity: 10, leakRate: Number.POSITIVE_INFINITY }),
      'leakRate',
      'above 0',
    ],
    ['rate per nothing', () => tokenBucket({ capacity: 10, refillRate: '10/0s' }), 'refillRate', "'100/1m'"],
    ['rate per too long', () => tokenBucket({ capacity: 10, refillRate: '1/400d' }), 'refillRate', '366 d'],
    ['rate too high', () => tokenBucket({ capacity: 10, refillRate: 1e16 }), 'refillRate', 'below 2^53'],
    ['rate per word', () => tokenBucket({ capacity: 10, refillRate: '10/minute' }), 'refillRate', "'100/1m'"],
    [
      'rate for another bucket',
      () => tokenBucket({ capacity: 10, leakRate: 1 } as never),
      'leakRate',
      'refillRate',
    ],
    ['limit for a bucket', () => tokenBucket({ limit: 10, refillRate: 1 } as never), 'limit', 'capacity'],
    ['a name with a space', () => fixedWindow({ ...ok, name: 'per user' }), 'name', "'per-user'"],
    ['a name with a colon', () => fixedWindow({ ...ok, name: 'a:b' }), 'name', 'a-z'],
    ['a name too long', () => fixedWindow({ ...ok, name: 'a'.repeat(65) }), 'name', '64'],
    ['an empty name', () => fixedWindow({ ...ok, name: '' }), 'name', '1 to 64'],
    [
      'an unknown algorithm',
      () => definePolicy({ algorithm: 'sliding-window', ...ok }),
      'algorithm',
      'sliding-window-counter',
    ],
    [
      'an inherited algorithm',
      () => definePolicy({ algorithm: 'constructor', ...ok }),
      'algorithm',
      'fixed-window',
    ],
    ['no algorithm', () => definePolicy({ ...ok }), 'algorithm', 'fixed-window'],
    [
      'an unknown field',
      () => definePolicy({ algorithm: 'fixed-window', ...ok, burst: 5 }),
      'burst',
      'limit, window, start, timeZone, countDenied, blockFor, lease, name, onStoreFailure and instances',
    ],
    [
      'an unknown onStoreFailure',
      () => fixedWindow({ ...ok, onStoreFailure: 'opened' as never }),
      'onStoreFailure',
      "'open' (allow), 'closed' (deny) or 'local'",
    ],
    [
      'onStoreFailure null',
      () => fixedWindow({ ...ok, onStoreFailure: null as never }),
      'onStoreFailure',
      'null',
    ],
    ['instances 0', () => fixedWindow({ ...ok, instances: 0 }), 'instances', 'whole number of at least 1'],
    ['instances 1.5', () => fixedWindow({ ...ok, instances: 1.5 }), 'instances', 'instances: 3'],
    ['instances as text', () => fixedWindow({ ...ok, instances: '3' as never }), 'instances', 'got "3"'],
    ['no object', () => definePolicy('100/1m'), undefined, "{ algorithm: 'fixed-window'"],
    ['no options', () => fixedWindow(undefined as never), undefined, "window: '1m'"],
  ])('%s', (_title, make, field, expectedText) => {
    const error = caught(make)
    expect(error).toMatchObject({ code: 'POLICY_INVALID', field })
    expect(error.message).toContain(expectedText)
  })
})

describe('rates', () => {
  it.each([
    [10, 1, 100_000],
    [0.1, 1, 10_000_000],
    [100 / 60, 1, 600_000],
    [166.67, 16_667, 100_000_000],
    [1 / 3, 1, 3_000_000],
    ['100/1m', 1, 600_000],
    ['0.5/1s', 1, 2_000_000],
    ['1/366d', 1, 366 * 86_400_000_000],
    [2_000_000, 2, 1],
  ] as const)('%s is %d units every %d µs', (rate, n, d) => {
    expect(tokenBucket({ capacity: 1, refillRate: rate })).toMatchObject({ n, d })
  })

  it('a number is the simplest fraction whose double it is', () => {
    const fractions = fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 100_000 }))
    holds('simplest-fraction', fractions, ([p, q]) => {
      const { n, d } = tokenBucket({ capacity: 1, refillRate: p / q })
      // n units per d µs is p/q units per second, exactly.
      expect(BigInt(n) * BigInt(q) * 1_000_000n).toBe(BigInt(p) * BigInt(d))
    })
  })

  it('rejects a rate that cannot be counted exactly, and names the nearest one that can', () => {
    const rates = fc.tuple(
      fc.integer({ min: 1, max: 1_000_000_000 }),
      fc.double({ min: 1e-7, max: 1e6, noNaN: true }),
    )
    holds('nearest-rate', rates, ([capacity, refillRate]) => {
      const error = caught(() => tokenBucket({ capacity, refillRate }), true)
      if (error === undefined) return
      const nearest = /is '([^']+)'\.$/.exec(error.message)?.[1] as `${number}/${string}`
      const { n, d } = tokenBucket({ capacity, refillRate: nearest })
      // As near as the room allows: the next fraction is at most 1/(d × largest d) away.
      const largest = Math.min(Number.MAX_SAFE_INTEGER / capacity, 366 * 86_400_000_000)
      const off = Math.abs((n / d) * 1e6 - refillRate)
      expect(off).toBeLessThanOrEqual(1e6 / largest + refillRate * 1e-9 + 1e-9)
    })
  })

  it.each([
    [102_919, '21470345448.0451202/410618ms'],
    [4_240_192, '2959210711859.120117/278294ms'],
    [27_196_772, '31233320420979.180/336944ms'],
  ] as const)('the nearest rate to a large rate is a valid rate: %d at %s', (capacity, refillRate) => {
    const { message } = caught(() => tokenBucket({ capacity, refillRate }))
    const nearest = /is '([^']+)'\.$/.exec(message)?.[1] as `${number}/${string}`
    const { n, d } = tokenBucket({ capacity, refillRate: nearest })
    const [units, ms] = refillRate.split('/').map(Number.parseFloat)
    expect(((n / d) * 1000 * ms!) / units!).toBeCloseTo(1, 9)
  })
})

function caught(make: () => unknown): TidegateError
function caught(make: () => unknown, mayPass: true): TidegateError | undefined
function caught(make: () => unknown, mayPass = false): TidegateError | undefined {
  try {
    make()
  } catch (error) {
    if (error instanceof TidegateError) return error
    throw error
  }
  if (mayPass) return undefined
  throw new Error('the rate was not rejected')
}
