import { concurrency, createLimiter, fixedWindow, tokenBucket } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { nameOf, useRedis } from './use-redis.js'

const on = useRedis()
beforeEach(() => on.redis.flushall())

const policy = concurrency({ limit: 3, ttl: '10s', name: 'jobs' })
const key = 'k'
const name = nameOf(policy, key)
const request = (id: string) => ({ policy, key, cost: 1, id })

describe('slots in Redis', () => {
  it('are a sorted set of ids by expiry, which expires with the last of them', async () => {
    const { timeMs } = await on.store.check(request('a'))
    expect(await on.redis.zrange(name, '0', '-1', 'WITHSCORES')).toStrictEqual([
      'a',
      String(timeMs * 1000 + 10_000_000),
    ])
    const ttlMs = await on.redis.pttl(name)
    expect(ttlMs).toBeGreaterThan(9000)
    expect(ttlMs).toBeLessThanOrEqual(10_001)
    await on.redis.pexpire(name, 5000)
    expect(await on.store.renew([request('a')])).toStrictEqual([true])
    expect(await on.redis.pttl(name)).toBeGreaterThan(9000)
    await on.store.release([request('a')])
    expect(await on.namesOfAll()).toStrictEqual([])
  })

  it('are removed from the set once they have expired', async () => {
    await on.redis.zadd(name, '1', 'expired', '2', 'expired too')
    await on.store.check(request('a'))
    expect(await on.redis.zrange(name, '0', '-1')).toStrictEqual(['a'])
  })

  it('that lost their expiry get one with the next request, allowed or denied', async () => {
    for (const id of ['a', 'b', 'c', 'denied']) {
      await on.redis.persist(name)
      await on.store.check(request(id))
      expect(await on.redis.pttl(name)).toBeGreaterThan(9000)
    }
  })

  it('replace a value of another type when one is acquired', async () => {
    for (const write of [
      () => on.redis.set(name, 'text'),
      () => on.redis.rpush(name, '1', '2'),
      () => on.redis.hset(name, 'field', '1'),
    ]) {
      await write()
      expect(await on.store.peek({ policy, key, cost: 1 })).toMatchObject({ allowed: true, remaining: 3 })
      expect(await on.store.renew([request('a')])).toStrictEqual([false])
      expect(await on.store.release([request('a')])).toStrictEqual([false])
      expect(await on.store.check(request('a'))).toMatchObject({ allowed: true, remaining: 2 })
      await on.store.reset({ policy, key })
    }
  })

  it('with scores that no slot has are cut, or count as expired', async () => {
    await on.redis.zadd(name, '+inf', 'forever', '-5', 'never', '1.5', 'part')
    expect(await on.store.peek({ policy, key, cost: 1 })).toMatchObject({
      remaining: 2,
      resetAfterMs: 10_000,
    })
    expect(await on.store.check(request('a'))).toMatchObject({ allowed: true, remaining: 1 })
    expect(await on.redis.zrange(name, '0', '-1')).toStrictEqual(['a', 'forever'])
  })

  it('travel with checks in one call', async () => {
    await on.redis.config('RESETSTAT')
    const rate = tokenBucket({ capacity: 10, refillRate: 1, name: 'rate' })
    await on.store.check(request('a'))
    await on.redis.config('RESETSTAT')
    const answers = await Promise.all([
      on.check(rate, 'k'),
      on.store.check(request('b')),
      on.store.renew([request('a'), request('b'), request('unknown')]),
      on.store.release([request('a')]),
      on.store.peek({ policy, key, cost: 1 }),
    ])
    expect(answers).toMatchObject([
      { remaining: 9 },
      { remaining: 1, id: 'b' },
      [true, true, false],
      [true],
      { remaining: 2 },
    ])
    expect(await on.redis.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
  })

  it('fail with STORE_FAILED without the permission, and the other limits do not', async () => {
    const admin = new Redis(on.server.port, '127.0.0.1')
    await admin.call(
      'ACL',
      'SETUSER',
      'nozset',
      'reset',
      'on',
      '>secret',
      '~*',
      '+@all',
      '-zrange',
      '-zscore',
    )
    const store = new RedisStore(`redis://nozset:secret@127.0.0.1:${on.server.port}`)
    const rate = fixedWindow({ limit: 5, window: '1h', name: 'rate' })
    try {
      const failed = { code: 'STORE_FAILED' }
      const [acquired, renewed, released, checked] = await Promise.allSettled([
        store.check(request('a')),
        store.renew([request('a')]),
        store.release([request('a')]),
        store.check({ policy: rate, key, cost: 1 }),
      ])
      for (const one of [acquired, renewed, released])
        expect(one).toMatchObject({ status: 'rejected', reason: failed })
      expect(checked).toMatchObject({ status: 'fulfilled', value: { remaining: 4 } })
    } finally {
      await store.close()
      admin.disconnect()
    }
  })

  it('are renewed in the background, and free again when their process is gone', async () => {
    const short = concurrency({ limit: 1, ttl: '1s', name: 'short' })
    const store = new RedisStore(on.server.url)
    const limiter = createLimiter({ policy: short, store })
    const slot = await limiter.acquire('k')
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(await on.store.peek({ policy: short, key: 'k', cost: 1 })).toMatchObject({ allowed: false })
    expect(slot.signal.aborted).toBe(false)
    await store.close()
    await until(
      'the slot to be free',
      async () => (await on.store.peek({ policy: short, key: 'k', cost: 1 })).allowed,
    )
  })

  it('that are gone abort the signal of their holder', async () => {
    const short = concurrency({ limit: 1, ttl: '1s', name: 'short' })
    const limiter = createLimiter({ policy: short, store: on.store })
    const slot = await limiter.acquire('k')
    await on.redis.del(nameOf(short, 'k'))
    await until('the signal to abort', async () => slot.signal.aborted)
    expect(slot.signal.reason).toMatchObject({ code: 'SLOT_LOST' })
    expect(await slot.release()).toBe(false)
  })
})
