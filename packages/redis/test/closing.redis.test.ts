import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createLimiter, fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { useRedis } from './use-redis.js'

const on = useRedis()

it('limiters on a closed store throw STORE_FAILED and allow no request', async () => {
  const policy = fixedWindow({ limit: 1000, window: '366d', name: 'closed' })
  const store = new RedisStore(on.server.url)
  const limiter = createLimiter({ store, policy })
  expect((await limiter.check('k')).remaining).toBe(999)
  await store.close()
  for (let i = 0; i < 10; i++) {
    await expect(limiter.check('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  }
})

it.each([
  ['closed', 'await store.close()'],
  ['not closed', ''],
])('a program whose store is %s exits when no calls are pending', async (key, close) => {
  const program = `
    import { createLimiter, fixedWindow } from '@tidegate/core'
    import { RedisStore } from '@tidegate/redis'
    const store = new RedisStore('${on.server.url}', { connectTimeoutMs: 60_000 })
    const limiter = createLimiter({ store, policy: fixedWindow({ limit: 5, window: '1h', name: 'done' }) })
    console.log((await limiter.check('${key}')).remaining)
    ${close}`
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
  expect(stdout).toBe('4\n')
})

it('checks that were not sent when the store is closed fail at once', async () => {
  const policy = fixedWindow({ limit: 1000, window: '366d', name: 'unsent' })
  const store = new RedisStore('redis://127.0.0.1:1', { connectTimeoutMs: 60_000 })
  const checks = Array.from({ length: 3 }, () => store.check({ policy, key: 'k', cost: 1 }).catch(String))
  await store.close()
  const closed = expect.stringContaining('the store was closed')
  expect(await Promise.all(checks)).toStrictEqual([closed, closed, closed])
})

it('a limiter decides a take of several slots even if its store is closed after the peeks', async () => {
  const policy = fixedWindow({ limit: 5, window: '1h', name: 'looked' })
  const sent: string[] = []
  const store = new RedisStore({
    isCluster: true,
    async call(command) {
      sent.push(command)
      // Once both peeks have been sent.
      await new Promise((resolve) => setImmediate(resolve))
      await store.close()
      return [Date.now() * 1000, 11, 0, 0]
    },
    quit: async () => 'OK',
  })
  const limiter = createLimiter({ store, policy })
  const result = await limiter.store.take(['a', 'b'].map((key) => ({ policy, key, cost: 1 })))
  expect(result).toMatchObject({ allowed: true, decisions: [{ degraded: 'open' }, { degraded: 'open' }] })
  expect(sent).toStrictEqual(['evalsha', 'evalsha'])
})
