import { fixedWindow, slidingWindowLog } from '@tidegate/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../test/redis-server.js'
import { RedisStore } from './redis-store.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it.each([
  ['get', fixedWindow({ limit: 1, window: '1h', name: 'fixed' })],
  ['llen', slidingWindowLog({ limit: 1, window: '1h', name: 'log' })],
] as const)('a user who may not %s is told so, and nobody is let through for it', async (command, policy) => {
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

it('a reset comes after the checks that were made before it', async () => {
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

it('says why there is no connection, and refuses an option that it does not have', async () => {
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
