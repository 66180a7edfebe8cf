import { type FixedWindowPolicy, fixedWindow, tokenBucket } from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { RedisStore } from '../redis-store.js'
import { type Entry, encode } from './protocol.js'

const policy = fixedWindow({ limit: 5, window: '1h', name: 'hour' })
const bucket = tokenBucket({ capacity: 7, refillRate: '3/1s', name: 'bucket' })
const request = { policy, key: 'k', cost: 1 }
const NOW_US = 1_800_000_000_000_000

function storeWithReply(reply: unknown): RedisStore {
  return new RedisStore({ call: async () => reply, quit: async () => 'OK' })
}

describe('rejects a reply that is not a result of the script', () => {
  it.each([
    ['null', null],
    ['text', 'OK'],
    ['an empty list', []],
    ['one number too few', [NOW_US, 41, 0]],
    ['numbers as text', [String(NOW_US), '41', '0', '0']],
    ['null instead of a number', [NOW_US, null, 0, 0]],
    ['NaN', [NOW_US, Number.NaN, 0, 0]],
    ['a fraction', [NOW_US, 1.5, 0, 0]],
    ['more remaining than the limit', [NOW_US, 49, 0, 0]],
    ['a negative number', [NOW_US, -3, 0, 0]],
    ['a time before the epoch', [-1, 41, 0, 0]],
    ['a time beyond 2^53', [2 ** 60, 41, 0, 0]],
    ['a reset in the past', [NOW_US, 41, -1, 0]],
    ['an infinite wait', [NOW_US, 40, 0, Number.POSITIVE_INFINITY]],
  ])('%s', async (_, reply) => {
    await expect(storeWithReply(reply).check(request)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it.each([-3, 2])('a refund of %s for a cost of 1', async (units) => {
    const refund = storeWithReply([NOW_US, units, 0, 0]).refund({ ...request, timeMs: NOW_US / 1000 })
    await expect(refund).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

it('invalid numbers for one entry fail that entry alone', async () => {
  const store = storeWithReply([NOW_US, 41, 1000, 0, 49, 1000, 0, 33, 1000, 0])
  const checks = ['a', 'b', 'c'].map((key) => store.check({ ...request, key }))
  expect(await Promise.allSettled(checks)).toMatchObject([
    { status: 'fulfilled', value: { remaining: 5 } },
    { status: 'rejected', reason: { code: 'STORE_FAILED' } },
    { status: 'fulfilled', value: { remaining: 4 } },
  ])
})

it('a valid reply is a decision', async () => {
  expect(await storeWithReply([NOW_US, 41, 1000, 0]).check(request)).toMatchObject({
    allowed: true,
    remaining: 5,
    resetAfterMs: 1,
  })
})

describe('the arguments of a call', () => {
  const POLICY = ['5', '3600000000', '0', 'f']
  const BUCKET = ['7', '3', '1000000', 't']
  const KIND = 2 ** 29
  const INDEX = 16 * KIND
  const COUNT = 1024 * INDEX

  it('equal checks share one run', () => {
    const checks = ['a', 'b', 'c'].map(
      (redisKey): Entry => ({ kind: 'take', limits: [{ policy, redisKey, cost: 2 }] }),
    )
    expect(encode(checks, 9, 0).args).toStrictEqual([
      '3',
      'a',
      'b',
      'c',
      '9',
      '1',
      ...POLICY,
      String(2 + 2 * COUNT),
    ])
  })

  it('keys that are not declared come last, with their number', () => {
    const checks = ['a', 'b'].map(
      (redisKey): Entry => ({ kind: 'take', limits: [{ policy, redisKey, cost: 1 }] }),
    )
    const run = String(1 + COUNT)
    expect(encode(checks, 0, 0, false).args).toStrictEqual(['0', '0', '1', ...POLICY, run, 'a', 'b', '2'])
  })

  it('checks of different costs do not share a run', () => {
    const checks = [1, 2].map((cost): Entry => ({ kind: 'take', limits: [{ policy, redisKey: 'a', cost }] }))
    expect(encode(checks, 0, 0).args).toStrictEqual(['2', 'a', 'a', '0', '1', ...POLICY, '1', '2'])
  })

  it('a take of several limits has a run for itself and one for each limit', () => {
    const limits = [
      { policy, redisKey: 'a', cost: 1 },
      { policy: bucket, redisKey: 'b', cost: 4 },
    ]
    const expected = ['2', 'a', 'b', '0', '2', ...POLICY, ...BUCKET]
    expected.push(String(1 + 2 * KIND + COUNT), '1', String(4 + INDEX))
    expect(encode([{ kind: 'take', limits }], 0, 0).args).toStrictEqual(expected)
  })

  it('equal refunds do not share a run, because each has the time of its decision', () => {
    const refund = { kind: 'refund', limits: [{ policy, redisKey: 'a', cost: 1 }], decidedAt: 8 } as const
    const code = String(1 + 3 * KIND)
    expect(encode([refund, { ...refund, decidedAt: 9 }], 0, 0).args).toStrictEqual([
      ...['2', 'a', 'a', '0', '1', ...POLICY],
      ...[code, '8', code, '9'],
    ])
  })

  it.each([-1, 0, 1, 2 ** 29 - 1, 2 ** 29, 10 ** 15 - 1])('a cost of %d is encoded exactly', (cost) => {
    const limits = [{ policy, redisKey: 'a', cost }] as const
    const [code, ...rest] = encode([{ kind: 'charge', limits }], 0, 0).args.slice(8)
    const inCode = Number(code) % KIND
    expect(inCode === 0 ? rest : [String(inCode), ...rest]).toStrictEqual([String(cost)])
  })

  it('a policy with options has them after its letter', () => {
    const letterOf = (policy: FixedWindowPolicy) => {
      const entry: Entry = { kind: 'take', limits: [{ policy, redisKey: 'a', cost: 1 }] }
      return encode([entry], 0, NOW_US).args[7]
    }
    const hour = { limit: 5, window: '1h' } as const
    expect(letterOf(fixedWindow({ ...hour, blockFor: '15m' }))).toBe('f 900000000 0 ')
    expect(letterOf(fixedWindow({ ...hour, countDenied: true }))).toBe('f 0 1 ')
    expect(letterOf(fixedWindow({ ...hour, start: 'first-request' }))).toBe('f 0 0 f')
    const day = 86_400_000_000
    const today = Math.floor(NOW_US / day) * day
    const boundaries = [-1, 0, 1, 2, 3].map((days) => today + days * day)
    expect(letterOf(fixedWindow({ limit: 5, window: 'day' }))).toBe(`f 0 0 ${boundaries.join(' ')}`)
  })
})
