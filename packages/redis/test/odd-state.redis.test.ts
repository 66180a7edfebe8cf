import type { Policy } from '@tidegate/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { EACH, LIMIT, policies } from './each-algorithm.js'
import { packedState } from './packed-state.js'
import { nameOf, useRedis } from './use-redis.js'

const on = useRedis()
beforeEach(() => on.redis.flushall())

async function evalCalls(): Promise<number> {
  const stats = await on.redis.info('commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

const NOW_US = Date.now() * 1000
const INVALID_NUMBERS = {
  'a length of 0': 0,
  'a negative number': -1,
  'a fraction': 0.5,
  'a number too large': 2 ** 60,
  NaN: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
}

const ODD: [string, (name: string) => Promise<unknown>][] = [
  ['a hash', (name) => on.redis.hset(name, 'count', 3)],
  ['a list of words', (name) => on.redis.rpush(name, 'not', 'a', 'log')],
  ['a list that is too short', (name) => on.redis.rpush(name, '1')],
  ['a log with damage in its middle', (name) => on.redis.rpush(name, '0', 'x', '1', hence(1), '2')],
  ['a log that counts down', (name) => on.redis.rpush(name, '9', hence(-9), '8', hence(-1), '3')],
  ['a log without numbers', (name) => on.redis.rpush(name, '0', 'nan', 'inf')],
  ['a set', (name) => on.redis.sadd(name, 'member')],
  ['a sorted set', (name) => on.redis.zadd(name, 1, 'member')],
  ['an empty text', (name) => on.redis.set(name, '')],
  ['text from another program', (name) => on.redis.set(name, '{"count":3}')],
  ['a state cut short', (name) => on.redis.set(name, packedState('f', NOW_US, 3.6e9, 3).subarray(0, 20))],
  ['a state that is too long', (name) => on.redis.set(name, packedState('f', NOW_US, 3.6e9, 3, 1, 1))],
  // Invalid numbers after the letter of each algorithm.
  ...['f', 'c', 't', 'k'].flatMap((letter): [string, (name: string) => Promise<unknown>][] =>
    Object.entries(INVALID_NUMBERS).map(([what, number]) => [
      `a state "${letter}" with ${what}`,
      (name) => on.redis.set(name, packedState(letter, ...withNumber(letter, number))),
    ]),
  ),
  ...['f', 'c'].map((letter): [string, (name: string) => Promise<unknown>] => [
    `a state "${letter}" of a window of centuries`,
    (name) => on.redis.set(name, packedState(letter, ...withNumber(letter, 2 ** 53 - 1))),
  ]),
  // A short log has the same numbers as a list has, after its letter and a shift.
  ['a short log cut short', (name) => on.redis.set(name, packedState('l', 0, 0, NOW_US, 3).subarray(0, 32))],
  ['a short log without units', (name) => on.redis.set(name, packedState('l', 0, 0))],
  ['a short log that counts down', (name) => on.redis.set(name, packedState('l', 0, 9, NOW_US, 3))],
  [
    'a short log that is too long for one',
    (name) =>
      on.redis.set(name, packedState('l', 0, 0, ...Array.from({ length: 65 }, (_, i) => [NOW_US, i]).flat())),
  ],
  ...['a fraction', 'a number too large', 'NaN', 'infinity'].flatMap((what) =>
    [0, 1, 2, 3].map((place): [string, (name: string) => Promise<unknown>] => [
      `a short log with ${what} at ${place}`,
      (name) =>
        on.redis.set(
          name,
          packedState(
            'l',
            ...[0, 0, NOW_US, 3].with(place, INVALID_NUMBERS[what as keyof typeof INVALID_NUMBERS]),
          ),
        ),
    ]),
  ),
  ['bytes that are not text', (name) => on.redis.set(name, Buffer.from([0xff, 0x00, 0xfe]))],
]

/** A used-up state whose unit or length is invalid. */
function withNumber(letter: string, odd: number): number[] {
  if (letter === 'c') return [NOW_US, odd, 3, 3]
  return letter === 'f' ? [NOW_US, odd, 3] : [letter === 't' ? 0 : 1e9, odd, NOW_US]
}

/** A time in microseconds, `seconds` from now. */
function hence(seconds: number): string {
  return String((Date.now() + seconds * 1000) * 1000)
}

describe('an unreadable state in the middle of a batch does not affect other decisions', () => {
  describe.each(EACH)('%s', (_, policy) => {
    it.each(ODD)('%s is ignored and replaced', async (_, make) => {
      await make(nameOf(policy, 'odd'))
      await batchAround(policy)
    })

    it('ignores and replaces the state of any other algorithm under the same name', async () => {
      const shared = policies({ name: 'shared' })
      const mine = shared.find(({ algorithm }) => algorithm === policy.algorithm)!
      for (const other of shared.filter((one) => one !== mine)) {
        await on.redis.flushall()
        expect((await on.check(other, 'odd', LIMIT)).remaining).toBe(0)
        await batchAround(mine)
      }
    })
  })

  /** Checks before, at and after the odd key, all in one call. */
  async function batchAround(policy: Policy): Promise<void> {
    await on.check(policy, 'first-of-all')
    const calls = await evalCalls()
    const keys = ['before', 'odd', 'after', 'odd', 'before', 'odd', 'odd']
    const decisions = await Promise.all(keys.map((key) => on.check(policy, key)))
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
    expect(await on.redis.pttl(nameOf(policy, 'odd'))).toBeGreaterThan(0)
  }

  it('invalid states that cannot be replaced fail their own checks only, each with the reason', async () => {
    const log = policies()[1] as Policy
    const odd = ['odd-1', 'odd-2', 'odd-3']
    await on.check(log, 'sound', 2)
    for (const key of odd) await on.redis.rpush(nameOf(log, key), '0', 'nan', 'inf')
    const may = ['reset', 'on', '>secret', '~rate_limiter:*', '+@all', '-set']
    await on.redis.call('ACL', 'SETUSER', 'unset', ...may)
    const store = new RedisStore(`redis://unset:secret@127.0.0.1:${on.server.port}`)
    try {
      const requests = odd.map((key) => ({ policy: log, key, cost: 1 }))
      const checks = requests.map((one) => store.check(one).catch((error: Error) => error.message))
      const look = store.peek({ policy: log, key: 'sound', cost: 1 })
      const denied = expect.stringMatching(/can't run|NOPERM/)
      expect(await Promise.all(checks)).toStrictEqual([denied, denied, denied])
      expect((await look).remaining).toBe(LIMIT - 2)
    } finally {
      await store.close()
    }
  })

  it('a take of several limits that fails leaves the entries before and after it alone', async () => {
    const [fixed, log] = policies() as [Policy, Policy]
    await on.check(log, 'before', 1)
    await on.check(log, 'after', 2)
    const permissions = ['reset', 'on', '>secret', '~rate_limiter:*', '+@all', '-set']
    await on.redis.call('ACL', 'SETUSER', 'readonly', ...permissions)
    const store = new RedisStore(`redis://readonly:secret@127.0.0.1:${on.server.port}`)
    try {
      const before = store.peek({ policy: log, key: 'before', cost: 1 })
      const take = store.take([fixed, log, fixed].map((policy, i) => ({ policy, key: `take-${i}`, cost: 1 })))
      const after = store.peek({ policy: log, key: 'after', cost: 1 })
      const results = await Promise.allSettled([before, take, after])
      expect(results).toMatchObject([
        { value: { remaining: LIMIT - 1 } },
        { reason: { code: 'STORE_FAILED', message: expect.stringMatching(/can't run|NOPERM/) } },
        { value: { remaining: LIMIT - 2 } },
      ])
    } finally {
      await store.close()
    }
  })

  it('a take of a key with an invalid state and a valid one charges both', async () => {
    const [fixed, log] = policies() as [Policy, Policy]
    await on.redis.hset(nameOf(log, 'odd'), 'count', 3)
    const result = await on.store.take([
      { policy: fixed, key: 'sound', cost: 1 },
      { policy: log, key: 'odd', cost: 2 },
    ])
    expect([result.allowed, ...result.decisions.map((decision) => decision?.remaining)]).toStrictEqual([
      true,
      2,
      1,
    ])
  })

  it.each(EACH)(
    '%s: a refund of an unreadable key gives nothing back and does not fail',
    async (_, policy) => {
      for (const [, make] of ODD) {
        await on.redis.flushall()
        await make(nameOf(policy, 'odd'))
        const { timeMs } = await on.check(policy, 'sound')
        const units = await Promise.all(
          ['sound', 'odd'].map((key) => on.store.refund({ policy, key, timeMs, cost: 1 })),
        )
        // A bucket has refilled or drained for some microseconds since.
        expect(units[0]).toBeCloseTo(1, 3)
        expect(units[1]).toBe(0)
      }
    },
  )
})
