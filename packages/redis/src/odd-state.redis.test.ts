import {
  type Decision,
  fixedWindow,
  leakyBucket,
  ManualClock,
  type Policy,
  type Rate,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import calculateSlot from 'cluster-key-slot'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { clientOf, type RedisServer, startRedis, until } from '../test/redis-server.js'
import { redisKey } from './keys.js'
import { RedisStore, type RedisStoreOptions } from './redis-store.js'
import { TIME_DOOR } from './time-door.js'

const PREFIX = 'rate_limiter'
const LIMIT = 3
const DAY_MS = 86_400_000

/** One of each algorithm; all with one name, or each with its own. */
function policies({ window = '366d' as '366d' | '300ms', rate = '1/1h' as Rate, name = '' } = {}): Policy[] {
  const named = (own: string) => (name === '' ? own : name)
  return [
    fixedWindow({ limit: LIMIT, window, name: named('fixed') }),
    slidingWindowLog({ limit: LIMIT, window, name: named('log') }),
    slidingWindowCounter({ limit: LIMIT, window, name: named('counter') }),
    tokenBucket({ capacity: LIMIT, refillRate: rate, name: named('token') }),
    leakyBucket({ capacity: LIMIT, leakRate: rate, name: named('leaky') }),
  ]
}

const EACH = policies().map((policy) => [policy.algorithm, policy] as const)

let server: RedisServer
let redis: Redis
let store: RedisStore

beforeAll(async () => {
  server = await startRedis()
  redis = clientOf(server)
  // What the scripts do with it is asked here, every time; and the test flushes behind the store's back.
  store = new RedisStore(server.url, { rememberRefusalsMs: 0 })
})
afterAll(async () => {
  await store?.close()
  redis?.disconnect()
  await server?.stop()
})
beforeEach(() => redis.flushall())

function check(policy: Policy, key: string, cost = 1): Promise<Decision> {
  return store.check({ policy, key, cost })
}

function nameOf(policy: Policy, key: string): string {
  return redisKey(PREFIX, policy.name, key)
}

async function evalCalls(): Promise<number> {
  const stats = await redis.info('commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

async function namesOfAll(): Promise<string[]> {
  const found: string[] = []
  for await (const names of redis.scanStream({ count: 1000 })) found.push(...(names as string[]))
  return found
}

const NOW_US = Date.now() * 1000
const CANNOT_BE = {
  'no length': 0,
  'a negative number': -1,
  'a fraction': 0.5,
  'a number too large': 2 ** 60,
  'no number': Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
}

const ODD: [string, (name: string) => Promise<unknown>][] = [
  ['a hash', (name) => redis.hset(name, 'count', 3)],
  ['a list of words', (name) => redis.rpush(name, 'not', 'a', 'log')],
  ['a list that is too short', (name) => redis.rpush(name, '1')],
  ['a log with damage in its middle', (name) => redis.rpush(name, '0', 'x', '1', hence(1), '2')],
  ['a log that counts down', (name) => redis.rpush(name, '9', hence(-9), '8', hence(-1), '3')],
  ['a log without numbers', (name) => redis.rpush(name, '0', 'nan', 'inf')],
  ['a set', (name) => redis.sadd(name, 'member')],
  ['a sorted set', (name) => redis.zadd(name, 1, 'member')],
  ['an empty text', (name) => redis.set(name, '')],
  ['a text of somebody else', (name) => redis.set(name, '{"count":3}')],
  ['a state cut short', (name) => redis.set(name, state('f', NOW_US, 3.6e9, 3).subarray(0, 20))],
  ['a state that is too long', (name) => redis.set(name, state('f', NOW_US, 3.6e9, 3, 1, 1))],
  // Of every algorithm: each is asked, and must find its own letter with numbers that cannot be.
  ...['f', 'c', 't', 'k'].flatMap((letter): [string, (name: string) => Promise<unknown>][] =>
    Object.entries(CANNOT_BE).map(([what, number]) => [
      `a state "${letter}" with ${what}`,
      (name) => redis.set(name, state(letter, ...withNumber(letter, number))),
    ]),
  ),
  // A short log has the same numbers as a list has, after its letter and a shift.
  ['a short log cut short', (name) => redis.set(name, state('l', 0, 0, NOW_US, 3).subarray(0, 32))],
  ['a short log without units', (name) => redis.set(name, state('l', 0, 0))],
  ['a short log that counts down', (name) => redis.set(name, state('l', 0, 9, NOW_US, 3))],
  ...['a fraction', 'a number too large', 'no number', 'infinity'].flatMap((what) =>
    [0, 1, 2, 3].map((place): [string, (name: string) => Promise<unknown>] => [
      `a short log with ${what} at ${place}`,
      (name) =>
        redis.set(
          name,
          state('l', ...[0, 0, NOW_US, 3].with(place, CANNOT_BE[what as keyof typeof CANNOT_BE])),
        ),
    ]),
  ),
  ['bytes that are no text', (name) => redis.set(name, Buffer.from([0xff, 0x00, 0xfe]))],
]

/** A state as `lua/state.lua` reads it: the algorithm's letter, and doubles. */
function state(letter: string, ...numbers: number[]): Buffer {
  return Buffer.concat([Buffer.from(letter), Buffer.from(new Float64Array(numbers).buffer)])
}

/** Used up, but for the unit or length, which cannot be what it is. */
function withNumber(letter: string, odd: number): number[] {
  if (letter === 'c') return [NOW_US, odd, 3, 3]
  return letter === 'f' ? [NOW_US, odd, 3] : [letter === 't' ? 0 : 1e9, odd, NOW_US]
}

/** A time in microseconds, so many seconds from now. */
function hence(seconds: number): string {
  return String((Date.now() + seconds * 1000) * 1000)
}

describe('what the script cannot read, in the middle of a batch, costs nobody a decision', () => {
  describe.each(EACH)('%s', (_, policy) => {
    it.each(ODD)('%s is taken for nothing, and replaced', async (_, make) => {
      await make(nameOf(policy, 'odd'))
      await batchAround(policy)
    })

    it('a state of every other algorithm under one name is taken for nothing, and replaced', async () => {
      const shared = policies({ name: 'shared' })
      const mine = shared.find(({ algorithm }) => algorithm === policy.algorithm)!
      for (const other of shared.filter((one) => one !== mine)) {
        await redis.flushall()
        expect((await check(other, 'odd', LIMIT)).remaining).toBe(0)
        await batchAround(mine)
      }
    })
  })

  /** Checks before, at and after the odd key, all in one call. */
  async function batchAround(policy: Policy): Promise<void> {
    await check(policy, 'first-of-all')
    const calls = await evalCalls()
    const keys = ['before', 'odd', 'after', 'odd', 'before', 'odd', 'odd']
    const decisions = await Promise.all(keys.map((key) => check(policy, key)))
    expect((await evalCalls()) - calls).toBe(1)
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toStrictEqual([
      [true, 2],
      [true, 2],
      [true, 2],
      [true, 1],
      [true, 1],
      [true, 0],
      [false, 0],
    ])
    expect(await redis.pttl(nameOf(policy, 'odd'))).toBeGreaterThan(0)
  }

  it('a take over an odd key and a sound one charges both', async () => {
    const [fixed, log] = policies() as [Policy, Policy]
    await redis.hset(nameOf(log, 'odd'), 'count', 3)
    const result = await store.take([
      { policy: fixed, key: 'sound', cost: 1 },
      { policy: log, key: 'odd', cost: 2 },
    ])
    expect([result.allowed, ...result.decisions.map((decision) => decision?.remaining)]).toStrictEqual([
      true,
      2,
      1,
    ])
  })

  it.each(EACH)('%s: a refund of an odd key gives nothing and fails nobody', async (_, policy) => {
    for (const [, make] of ODD) {
      await redis.flushall()
      await make(nameOf(policy, 'odd'))
      const { timeMs } = await check(policy, 'sound')
      const given = await Promise.all(
        ['sound', 'odd'].map((key) => store.refund({ policy, key, timeMs, cost: 1 })),
      )
      // A bucket has moved on by some microseconds since.
      expect(given[0]).toBeCloseTo(1, 3)
      expect(given[1]).toBe(0)
    }
  })
})

describe('a key without expiry is given one', () => {
  describe.each(EACH)('%s', (_, policy) => {
    it('by the next check that is allowed', async () => {
      await check(policy, 'k')
      await loseExpiry(policy)
      expect((await check(policy, 'k')).remaining).toBe(1)
      expect(await redis.pttl(nameOf(policy, 'k'))).toBeGreaterThan(0)
    })

    it('by a refusal', async () => {
      await check(policy, 'k', LIMIT)
      const before = await redis.pttl(nameOf(policy, 'k'))
      await loseExpiry(policy)
      expect((await check(policy, 'k')).allowed).toBe(false)
      const after = await redis.pttl(nameOf(policy, 'k'))
      expect(after).toBeGreaterThan(before - 10_000)
      // Both are rounded up to the millisecond.
      expect(after).toBeLessThanOrEqual(before + 1)
    })

    it('by a take that another limit refuses', async () => {
      const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
      await check(full, 'k')
      await check(policy, 'k')
      await loseExpiry(policy)
      const requests = [policy, full].map((one) => ({ policy: one, key: 'k', cost: 1 }))
      expect((await store.take(requests)).allowed).toBe(false)
      expect(await redis.pttl(nameOf(policy, 'k'))).toBeGreaterThan(0)
    })

    it('by a take that another limit refuses, when it counts for nothing any more', async () => {
      const clock = new ManualClock(366 * DAY_MS)
      const timed = new RedisStore(server.url, {
        rememberRefusalsMs: 0,
        [TIME_DOOR]: clock,
      } as RedisStoreOptions)
      try {
        const full = fixedWindow({ limit: 1, window: '366d', name: 'full' })
        const short = policies({ window: '300ms' }).find(({ algorithm }) => algorithm === policy.algorithm)!
        await timed.check({ policy: full, key: 'k', cost: 1 })
        await timed.check({ policy: short, key: 'k', cost: 1 })
        await loseExpiry(short)
        clock.advance(DAY_MS)
        expect((await timed.peek({ policy: short, key: 'k', cost: 1 })).remaining).toBe(LIMIT)
        const requests = [short, full].map((one) => ({ policy: one, key: 'k', cost: 1 }))
        expect((await timed.take(requests)).allowed).toBe(false)
        expect(await redis.pttl(nameOf(short, 'k'))).toBeGreaterThan(0)
      } finally {
        await timed.close()
      }
    })
  })

  async function loseExpiry(policy: Policy): Promise<void> {
    expect(await redis.persist(nameOf(policy, 'k'))).toBe(1)
    expect(await redis.pttl(nameOf(policy, 'k'))).toBe(-1)
  }
})

describe('key text', () => {
  const KEYS = [
    '{a}x',
    '{a}y',
    '}{',
    '{}',
    '{{a}}',
    'a b  c',
    '🦭 seal 🦭',
    '%7Ba%7D',
    '100%',
    'user:{tenant:7}:read',
    '"quoted" \\ back',
    'x'.repeat(200),
    '🦭'.repeat(50),
    '{'.repeat(200),
  ]

  it.each(EACH)('%s: braces, spaces, emoji and 200 bytes are keys like any other', async (_, policy) => {
    const twice = [...KEYS, ...KEYS]
    const decisions = await Promise.all(twice.map((key) => check(policy, key)))
    expect(decisions.map(({ remaining }) => remaining)).toStrictEqual([
      ...KEYS.map(() => 2),
      ...KEYS.map(() => 1),
    ])
    expect((await namesOfAll()).sort()).toStrictEqual(KEYS.map((key) => nameOf(policy, key)).sort())
    for (const key of KEYS) await store.reset({ policy, key })
    expect(await redis.dbsize()).toBe(0)
  })

  it('never picks a slot: the slot is that of the whole name', () => {
    for (const key of KEYS) {
      const name = redisKey(PREFIX, 'fixed', key)
      expect(name).not.toMatch(/[{}]/)
      expect([key, calculateSlot(name)]).toStrictEqual([key, wholeSlot(name)])
    }
    // What Redis would make of it without the escaping: one slot for all that share the text in braces.
    expect(calculateSlot('{a}x')).toBe(calculateSlot('{a}y'))
    const slots = new Set(
      Array.from({ length: 1000 }, (_, i) => calculateSlot(redisKey(PREFIX, 'p', `{a}${i}`))),
    )
    expect(slots.size).toBeGreaterThan(900)
  })

  /** CRC16 (XMODEM) of all bytes, with no eye for braces. */
  function wholeSlot(name: string): number {
    let crc = 0
    for (const byte of Buffer.from(name)) {
      crc ^= byte << 8
      for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
    }
    return crc % 16_384
  }
})

describe('after a load over all algorithms', () => {
  it('every key that a scan finds has an expiry', async () => {
    const all = policies()
    await load(all)
    const names = await namesOfAll()
    // Each of the five has all the keys that were not reset or wholly refunded.
    expect(names.length).toBeGreaterThan(5 * 100)
    for (const name of names) expect([name, (await redis.pttl(name)) > 0]).toStrictEqual([name, true])
  })

  it('nothing is left once the longest window is over', async () => {
    await load(policies({ window: '300ms', rate: '10/1s' }))
    expect(await redis.dbsize()).toBeGreaterThan(0)
    // A key that is expired is counted until Redis has thrown it out, which it does ten times a second.
    await until('the last key to go', async () => (await redis.dbsize()) === 0, 10_000)
  })

  /** Checks, takes, peeks, refunds and resets over 200 keys. */
  async function load(all: readonly Policy[]): Promise<void> {
    const work: Promise<unknown>[] = []
    for (let i = 0; i < 5000; i++) {
      const policy = all[i % all.length]!
      const key = `user:${(i * 7) % 200}`
      const cost = 1 + (i % LIMIT)
      if (i % 50 === 3) work.push(store.reset({ policy, key }))
      else if (i % 11 === 5) work.push(store.peek({ policy, key, cost }))
      else if (i % 7 === 2) work.push(store.take(all.map((one) => ({ policy: one, key, cost: 1 }))))
      else if (i % 5 === 1) {
        work.push(
          check(policy, key, cost).then(({ allowed, timeMs }) =>
            allowed ? store.refund({ policy, key, timeMs, cost: 1 + (i % cost) }) : 0,
          ),
        )
      } else work.push(check(policy, key, cost))
      if (work.length === 256) await Promise.all(work.splice(0))
    }
    await Promise.all(work)
  }
})
