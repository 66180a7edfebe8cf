import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createLimiter, type FailureEvent, fixedWindow } from '@tidegate/core'
import { freePort } from '@tidegate/fixtures/free-port'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'

const policy = fixedWindow({ limit: 5, window: '1h', name: 'five' })

function limiterOn(url: string) {
  const store = new RedisStore(url)
  const changes: Extract<FailureEvent, { type: 'store' }>[] = []
  const onEvent = (event: FailureEvent) => {
    if (event.type === 'store') changes.push(event)
  }
  return { store, changes, limiter: createLimiter({ policy, store, failure: { onEvent } }) }
}

it.each(['redis://127.0.0.1', 'redis+cluster://127.0.0.1', 'redis+sentinel://127.0.0.1'])(
  'a wrong address is reported once, without a check: %s',
  async (host) => {
    const url = `${host}:${await freePort()}${host.includes('sentinel') ? '/main' : ''}`
    const { store, changes } = limiterOn(url)
    await expect.poll(() => changes).toHaveLength(1)
    expect(String(changes[0]!.isUp === false && changes[0]!.error)).toContain('Redis is unreachable: ')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(changes).toHaveLength(1)
    await store.close()
  },
)

it('a limiter that is created after the failed attempt reports it too', async () => {
  const store = new RedisStore(`redis://127.0.0.1:${await freePort()}`)
  await store.ready().catch(() => {})
  const events: FailureEvent[] = []
  createLimiter({ policy, store, failure: { onEvent: (event) => events.push(event) } })
  await expect.poll(() => events).toMatchObject([{ type: 'store', isUp: false }])
  await store.close()
})

it('a Redis that starts late is reported as available by the first check', async () => {
  const port = await freePort()
  const { store, changes, limiter } = limiterOn(`redis://127.0.0.1:${port}`)
  await expect.poll(() => changes).toHaveLength(1)
  const server = await startRedis([], { port })
  try {
    await expect.poll(async () => (await limiter.check('k')).degraded).toBeUndefined()
    expect(changes.map(({ isUp }) => isUp)).toStrictEqual([false, true])
  } finally {
    await store.close()
    await server.stop()
  }
})

it('nothing is reported for a Redis that is up, or a store that was closed at once', async () => {
  const server = await startRedis()
  const up = limiterOn(server.url)
  await up.limiter.ready()
  const closed = limiterOn(`redis://127.0.0.1:${await freePort()}`)
  await closed.store.close()
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect([...up.changes, ...closed.changes]).toStrictEqual([])
  await up.store.close()
  await server.stop()
})

it('a program without a request prints the warning', async () => {
  const program = `
    import { createLimiter, fixedWindow } from '@tidegate/core'
    import { RedisStore } from '@tidegate/redis'
    const store = new RedisStore('redis://127.0.0.1:${await freePort()}')
    createLimiter({ policy: fixedWindow({ limit: 5, window: '1h' }), store })
    setTimeout(() => store.close(), 500)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  expect(await once(child, 'close')).toStrictEqual([0, null])
  expect(output.match(/TIDEGATE_STORE_UNAVAILABLE/g)).toHaveLength(1)
  expect(output).toContain('ECONNREFUSED')
})
