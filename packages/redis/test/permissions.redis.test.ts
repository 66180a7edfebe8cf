import { type Decision, fixedWindow, slidingWindowLog, type TakeRequest } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it.each([
  ['get', fixedWindow({ limit: 1, window: '1h', name: 'fixed' })],
  ['mget', slidingWindowLog({ limit: 1, window: '1h', name: 'log' })],
  ['llen', slidingWindowLog({ limit: 1, window: '1h', name: 'list' })],
] as const)('a user without the permission %s gets STORE_FAILED for every check', async (command, policy) => {
  const admin = new Redis(server.port, '127.0.0.1')
  await admin.call(
    'ACL',
    'SETUSER',
    command,
    'reset',
    'on',
    '>secret',
    '~rate_limiter:*',
    '+@all',
    `-${command}`,
  )
  const store = new RedisStore(`redis://${command}:secret@127.0.0.1:${server.port}`)
  try {
    for (let i = 0; i < 3; i++) {
      await expect(store.check({ policy, key: 'k', cost: 1 })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    }
  } finally {
    await store.close()
    admin.disconnect()
  }
})

it('only the entries of a call that need a denied command fail; a take fails as a whole', async () => {
  const admin = new Redis(server.port, '127.0.0.1')
  await admin.call('ACL', 'SETUSER', 'some', 'reset', 'on', '>secret', '~rate_limiter:*', '+@all', '-mget')
  const fixed = fixedWindow({ limit: 5, window: '366d', name: 'some-fixed' })
  const log = slidingWindowLog({ limit: 5, window: '366d', name: 'some-log' })
  const store = new RedisStore(`redis://some:secret@127.0.0.1:${server.port}`)
  const ofFixed = { policy: fixed, key: 'k', cost: 1 }
  const ofOther = { policy: fixed, key: 'other', cost: 1 }
  const ofLog = { policy: log, key: 'k', cost: 1 }
  const one = async (decision: Promise<Decision>) => [(await decision).remaining]
  const several = async (requests: TakeRequest[]) =>
    (await store.take(requests)).decisions.map((decision) => decision?.remaining)
  try {
    await store.check(ofFixed)
    await admin.config('RESETSTAT')
    const answers = await Promise.allSettled([
      one(store.check(ofFixed)),
      one(store.check(ofLog)),
      several([ofFixed, ofLog, ofOther]),
      several([ofLog, ofFixed]),
      one(store.check(ofLog)),
      one(store.check(ofFixed)),
      several([ofFixed, ofOther]),
      one(store.peek(ofFixed)),
    ])
    const failed = 'not permitted'
    expect(
      answers.map((answer) => {
        if (answer.status === 'fulfilled') return answer.value
        return /can't run this command/.test(answer.reason.message) ? failed : answer.reason
      }),
    ).toStrictEqual([[3], failed, failed, failed, failed, [2], [1, 4], [1]])
    expect(await admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/)
  } finally {
    await store.close()
    admin.disconnect()
  }
})

it('a reset is executed after the checks that were made before it', async () => {
  const policy = fixedWindow({ limit: 5, window: '1h', name: 'order' })
  const store = new RedisStore(server.url)
  try {
    const checks = Array.from({ length: 200 }, () => store.check({ policy, key: 'k', cost: 1 }))
    const reset = store.reset({ policy, key: 'k' })
    const after = store.peek({ policy, key: 'k', cost: 1 })
    await Promise.all([...checks, reset])
    expect((await after).remaining).toBe(5)
  } finally {
    await store.close()
  }
})

it('a database that cannot be selected fails every check with the reason, and nothing is counted in database 0', async () => {
  const policy = fixedWindow({ limit: 5, window: '1h', name: 'database' })
  const admin = new Redis(server.port, '127.0.0.1')
  await admin.call('ACL', 'SETUSER', 'stay', 'reset', 'on', '>secret', '~*', '+@all', '-select')
  const address = `127.0.0.1:${server.port}`
  const stores = [`redis://${address}/99`, `redis://stay:secret@${address}/1`].map(
    (url) => new RedisStore(url, { connectTimeoutMs: 200 }),
  )
  const whys = [/DB index is out of range/, /no permissions to run the 'select' command/]
  try {
    for (const [i, store] of stores.entries()) {
      for (let again = 0; again < 2; again++) {
        const failed = { code: 'STORE_FAILED', message: expect.stringMatching(whys[i]!) }
        await expect(store.check({ policy, key: 'k', cost: 1 })).rejects.toMatchObject(failed)
      }
    }
    expect(await admin.exists('rate_limiter:database:k')).toBe(0)
  } finally {
    for (const store of stores) await store.close()
    admin.disconnect()
  }
})

it('reports why the connection is down, and rejects an unknown option', async () => {
  const policy = fixedWindow({ limit: 5, window: '1h', name: 'lost' })
  const store = new RedisStore('redis://127.0.0.1:1')
  await expect(store.check({ policy, key: 'k', cost: 1 })).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining('ECONNREFUSED 127.0.0.1:1'),
  })
  await store.close()
  expect(() => new RedisStore(server.url, { prefx: 'x' } as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field: 'prefx' }),
  )
})
