import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  createLimiter,
  fixedWindow,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { startRedisProxy } from '@tidegate/fixtures/redis-proxy'
import { pause, until } from '@tidegate/fixtures/until'
import { beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { nameOf, useRedis } from './use-redis.js'

const on = useRedis()
beforeEach(() => on.redis.flushall())

const EACH: [string, RatePolicy][] = [
  fixedWindow({ limit: 10, window: '366d', name: 'fixed' }),
  slidingWindowLog({ limit: 10, window: '366d', name: 'log' }),
  slidingWindowCounter({ limit: 10, window: '366d', name: 'counter' }),
  tokenBucket({ capacity: 10, refillRate: '10/366d', name: 'token' }),
].map((policy) => [policy.algorithm, policy])

const ENDED = { settled: false, reason: 'ended' }
const UNKNOWN = { settled: false, reason: 'unknown' }

async function left(policy: RatePolicy): Promise<number> {
  return (await on.store.peek({ policy, key: 'k', cost: 1 })).remaining
}

function reserve(policy: RatePolicy, cost: number, id: string, ttl = '10m') {
  return on.store.reserve([{ policy, key: 'k', cost }], { id, ttl })
}

async function settle(policy: RatePolicy, id: string, actual: number) {
  return (await on.store.settle([{ policy, key: 'k' }], id, [actual]))[0]
}

describe.each(EACH)('%s', (_, policy) => {
  const [state, open, ended] = ['', ':r', ':e'].map((end) => {
    return end === '' ? nameOf(policy, 'k') : `{${nameOf(policy, 'k')}}${end}`
  }) as [string, string, string]

  it('keeps its records in keys that expire, in the slot of the state', async () => {
    await reserve(policy, 2, 'a', '5m')
    await reserve(policy, 2, 'b', '1m')
    await settle(policy, 'c', 0)
    expect((await on.namesOfAll()).sort()).toStrictEqual([state, ended, open].sort())
    const [openMs, endedMs] = [await on.redis.pttl(open), await on.redis.pttl(ended)]
    expect(openMs).toBeGreaterThan(290_000)
    expect(openMs).toBeLessThanOrEqual(300_001)
    expect(endedMs).toBeGreaterThan(50_000)
    expect(endedMs).toBeLessThanOrEqual(60_001)
    await settle(policy, 'a', 0)
    await settle(policy, 'b', 0)
    expect(await on.redis.exists(open)).toBe(0)
  })

  it('reset deletes all of its keys', async () => {
    await reserve(policy, 2, 'a')
    await settle(policy, 'b', 0)
    await on.store.reset({ policy, key: 'k' })
    expect(await on.namesOfAll()).toStrictEqual([])
  })

  it('gives nothing back if Redis has evicted the state', async () => {
    await reserve(policy, 4, 'a')
    await reserve(policy, 2, 'b')
    await on.redis.del(state)
    await on.check(policy, 'k', 6)
    expect(await settle(policy, 'a', 0)).toStrictEqual({ settled: true, refunded: 0, charged: 0, overBy: 0 })
    expect(await left(policy)).toBe(4)
    // Not even if another reservation has been made since.
    await reserve(policy, 2, 'c')
    expect(await settle(policy, 'b', 0)).toMatchObject({ settled: true, refunded: 0 })
    expect(await settle(policy, 'c', 0)).toMatchObject({ settled: true, refunded: 2 })
    expect(await left(policy)).toBe(4)
  })

  it('gives nothing back if Redis has evicted the reservations', async () => {
    await reserve(policy, 4, 'a')
    await on.redis.del(open)
    expect(await settle(policy, 'a', 0)).toStrictEqual(UNKNOWN)
    expect(await left(policy)).toBe(6)
  })

  it('replaces invalid values of its keys', async () => {
    for (const value of ['', 'x', 'x'.repeat(32), 'x'.repeat(500), '\u0000'.repeat(48)]) {
      await on.redis.flushall()
      await on.redis.hset(open, { '': value, b: value })
      await on.redis.set(ended, value)
      expect((await reserve(policy, 4, 'a')).allowed).toBe(true)
      expect(await settle(policy, 'a', 1)).toMatchObject({ settled: true, refunded: 3 })
      expect(await settle(policy, 'a', 1)).toStrictEqual(ENDED)
    }
    await on.redis.flushall()
    await on.redis.rpush(open, 'x')
    await on.redis.rpush(ended, 'x')
    expect((await reserve(policy, 4, 'a')).allowed).toBe(true)
    expect(await settle(policy, 'b', 1)).toStrictEqual(UNKNOWN)
    expect(await settle(policy, 'a', 1)).toMatchObject({ settled: true, refunded: 3 })
  })

  it('only one of 10,000 concurrent settlements by two stores gives units back', async () => {
    const stores = [patientStore(), patientStore()]
    try {
      await reserve(policy, 6, 'a')
      const settling = Array.from({ length: 10_000 }, (_, i) =>
        stores[i % 2]!.settle([{ policy, key: 'k' }], 'a', [2]),
      )
      const results = (await Promise.all(settling)).flat()
      expect(results.filter(({ settled }) => settled)).toStrictEqual([
        { settled: true, refunded: 4, charged: 0, overBy: 0 },
      ])
      expect(await left(policy)).toBe(8)
    } finally {
      for (const store of stores) await store.close()
    }
  })

  it('1,000 reservations of a key can be open, and are settled in any order', async () => {
    const store = patientStore()
    const wide = wider(policy)
    try {
      const ids = Array.from({ length: 1000 }, (_, i) => `request-${i}`)
      const request = { policy: wide, key: 'k', cost: 1 }
      const reserved = await Promise.all(ids.map((id) => store.reserve([request], { id })))
      expect(reserved.every(({ allowed }) => allowed)).toBe(true)
      const denied = await store.reserve([request])
      expect(denied.decisions[0]).toMatchObject({ allowed: false, reason: 'max-open', remaining: 1000 })
      const order = ids.map((_, i) => ids[(i * 617) % 1000]!)
      const results = await Promise.all(order.map((id) => store.settle([request], id, [0])))
      expect(results.flat().filter(({ settled }) => settled).length).toBe(1000)
      expect(await left(wide)).toBe(2000)
      expect(await on.redis.exists(`{${nameOf(wide, 'k')}}:r`)).toBe(0)
    } finally {
      await store.close()
    }
  })
})

/** A store with a long timeout, for thousands of calls at once. */
function patientStore(): RedisStore {
  return new RedisStore(on.server.url, { connectTimeoutMs: 60_000 })
}

function wider(policy: RatePolicy): RatePolicy {
  const name = `wide-${policy.name}`
  switch (policy.algorithm) {
    case 'fixed-window':
      return fixedWindow({ limit: 2000, window: '366d', name })
    case 'sliding-window-log':
      return slidingWindowLog({ limit: 2000, window: '366d', name })
    case 'sliding-window-counter':
      return slidingWindowCounter({ limit: 2000, window: '366d', name })
    default:
      return tokenBucket({ capacity: 2000, refillRate: '10/366d', name })
  }
}

describe('a process that is killed between reserve and settle', () => {
  const options = { algorithm: 'token-bucket', name: 'killed', capacity: 10, refillRate: '10/366d' } as const
  const policy = tokenBucket({ capacity: 10, refillRate: '10/366d', name: 'killed' })

  async function killAfterReserve(id: string, ttl: string): Promise<void> {
    const child = fork(PROGRAM, { env: { ...process.env, REDIS_URL: on.server.url } })
    try {
      await message(child)
      const answer = message(child)
      child.send({ options, key: 'k', cost: 6, id, ttl })
      expect(await answer).toStrictEqual({ allowed: true })
    } finally {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
  }

  it('another process settles its reservation', async () => {
    await killAfterReserve('a', '10m')
    expect(await left(policy)).toBe(4)
    expect(await settle(policy, 'a', 1)).toStrictEqual({ settled: true, refunded: 5, charged: 0, overBy: 0 })
    expect(await left(policy)).toBe(9)
  })

  it('its reservation lapses after the ttl, and the units stay charged', async () => {
    await killAfterReserve('a', '1s')
    await until('the reservation to lapse', async () => {
      return (await on.redis.exists(`{${nameOf(policy, 'k')}}:r`)) === 0
    })
    expect(await settle(policy, 'a', 1)).toStrictEqual(UNKNOWN)
    expect(await left(policy)).toBe(4)
  })
})

const PROGRAM = fileURLToPath(new URL('./reserving-process.mjs', import.meta.url))

function message(child: ChildProcess): Promise<unknown> {
  return once(child, 'message').then(([received]) => received)
}

describe('a lost response', () => {
  const policy = tokenBucket({ capacity: 10, refillRate: '10/366d', name: 'lost', onStoreFailure: 'closed' })

  it('reserve is repeated by its id and charged once; settle is repeated and gives back once', async () => {
    const proxy = await startRedisProxy(on.server.port)
    const store = new RedisStore(proxy.url)
    const limiter = createLimiter({ policy, store, failure: { onEvent() {} } })
    try {
      await limiter.ready()
      await limiter.peek('k')
      proxy.replyFault = 'drop all'
      const lost = await limiter.reserve('k', 6, { id: 'a' })
      expect(lost).toMatchObject({ allowed: false, degraded: 'closed', id: 'a' })
      await until('the charge', async () => (await left(policy)) === 4)
      proxy.replyFault = 'none'
      await until('the same reservation', async () => {
        const again = await limiter.reserve('k', 6, { id: 'a' })
        return again.allowed && again.repeated === true
      })
      expect(await left(policy)).toBe(4)

      proxy.replyFault = 'drop all'
      await limiter.settle('k', 'a', 2).catch(() => {})
      proxy.replyFault = 'none'
      expect(await left(policy)).toBe(8)
      await until('an answer', async () => {
        const result = await limiter.settle('k', 'a', 2).catch(() => undefined)
        return result?.settled === false && result.reason === 'ended'
      })
      expect(await left(policy)).toBe(8)
    } finally {
      await store.close()
      await proxy.stop()
    }
  })
})

it('a user who may only use the keys of states can check and reset, but not reserve', async () => {
  const policy = fixedWindow({ limit: 10, window: '1h', name: 'permitted' })
  await on.redis.call('ACL', 'SETUSER', 'states', 'reset', 'on', '>secret', '~rate_limiter:*', '+@all')
  const store = new RedisStore(`redis://states:secret@127.0.0.1:${on.server.port}`)
  try {
    await store.ready()
    expect((await store.check({ policy, key: 'k', cost: 1 })).remaining).toBe(9)
    await store.reset({ policy, key: 'k' })
    const reserving = store.reserve([{ policy, key: 'k', cost: 1 }])
    await expect(reserving).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect((await store.peek({ policy, key: 'k', cost: 1 })).remaining).toBe(10)
  } finally {
    await store.close()
    await on.redis.call('ACL', 'DELUSER', 'states')
  }
})

it('the permissions in the documentation are sufficient', async () => {
  const policy = tokenBucket({ capacity: 10, refillRate: '1/1h', name: 'documented' })
  const page = readFileSync(new URL('../../../docs/operators/redis.md', import.meta.url), 'utf8')
  const user = /ACL SETUSER tidegate (.*)/.exec(page)![1]!.split(' ')
  await on.redis.call('ACL', 'SETUSER', 'tidegate', 'reset', ...user)
  const store = new RedisStore(`redis://tidegate:secret@127.0.0.1:${on.server.port}`)
  try {
    const kept = await store.reserve([{ policy, key: 'k', cost: 4 }])
    const reservation = await store.reserve([{ policy, key: 'k', cost: 4 }], { ttl: '1s' })
    expect(await reservation.settle([1])).toMatchObject([{ settled: true }])
    await store.reserve([{ policy, key: 'k', cost: 2 }], { ttl: '1s' })
    await pause(1100)
    expect(await kept.settle([5])).toMatchObject([{ settled: true, charged: 1 }])
    await store.reset({ policy, key: 'k' })
    expect(await on.namesOfAll()).toStrictEqual([])
  } finally {
    await store.close()
    await on.redis.call('ACL', 'DELUSER', 'tidegate')
  }
})

it('the clock of the server ends a reservation', async () => {
  const policy = tokenBucket({ capacity: 10, refillRate: '10/366d', name: 'lapsed' })
  await reserve(policy, 4, 'long', '10m')
  await reserve(policy, 4, 'short', '1s')
  await pause(1100)
  expect(await settle(policy, 'short', 0)).toStrictEqual(UNKNOWN)
  expect(await settle(policy, 'long', 0)).toMatchObject({ settled: true, refunded: expect.closeTo(4, 3) })
})
