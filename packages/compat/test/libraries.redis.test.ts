import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createLimiter, MemoryStore, type Store, tokenBucket, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { RedisStore } from '@tidegate/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { APPS, type App, type AppOptions, statusesOf } from './apps.mjs'

// Each library with a Tidegate store, in an application that is called over HTTP.

const ends: (() => unknown)[] = []
let server: RedisServer
let processes: ChildProcess[] = []
beforeAll(async () => {
  server = await startRedis()
  processes = await Promise.all(Array.from({ length: 4 }, startProcess))
})
afterAll(async () => {
  for (const child of processes) child.kill('SIGKILL')
  await server?.stop()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await server.ask('FLUSHALL')
})

describe.each(Object.keys(APPS))('%s', (library) => {
  const TWO: AppOptions = { limit: 2, windowMs: 3_600_000 }

  async function start(source: Parameters<(typeof APPS)[string]>[0], options: AppOptions): Promise<App> {
    const app = await APPS[library]!(source, options)
    ends.push(() => app.close())
    return app
  }

  function redisStore(url: string): RedisStore {
    const store = new RedisStore(url)
    ends.push(() => store.close())
    return store
  }

  /** For tests that are not about failures, because the default deadline may be too short on a busy machine. */
  function patientStore(): Store {
    return withFallback(redisStore(server.url), { deadlineMs: 10_000, connectTimeoutMs: 10_000 })
  }

  it.each<[string, () => Store | undefined]>([
    ['nothing', () => undefined],
    ['a memory store', () => new MemoryStore()],
    ['a Redis store', patientStore],
  ])('denies requests above the limit, counted by %s', async (_, source) => {
    const { url } = await start(source(), TWO)
    expect((await statusesOf(url, 5)).sort()).toStrictEqual([200, 200, 429, 429, 429])
    const denied = await fetch(url)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(3500)
    expect(Number(denied.headers.get('retry-after'))).toBeLessThanOrEqual(3600)
  })

  it('counts by the policy of a limiter', async () => {
    const policy = tokenBucket({ capacity: 2, refillRate: '1/1h', name: 'bucket' })
    const { url } = await start(createLimiter({ policy }), TWO)
    expect((await statusesOf(url, 5)).sort()).toStrictEqual([200, 200, 429, 429, 429])
  })

  it('denies without a call to the store while a denial is cached', async () => {
    const { url } = await start(patientStore(), TWO)
    await statusesOf(url, 3)
    const before = await scriptCalls()
    expect(new Set(await statusesOf(url, 100))).toStrictEqual(new Set([429]))
    expect((await scriptCalls()) - before).toBeLessThan(10)
  })

  it('allows exactly the limit of 200 parallel requests over four processes', async () => {
    const load = { library, limit: 50, requests: 50 }
    const statuses = (await Promise.all(processes.map((child) => request(child, load)))).flat()
    expect(statuses).toHaveLength(200)
    expect(statuses.filter((status) => status === 200)).toHaveLength(50)
    expect(statuses.filter((status) => status === 429)).toHaveLength(150)
  })

  it.each([
    ['open', [200, 200, 200, 200]],
    ['closed', [500, 500, 500, 500]],
    ['local', [200, 200, 429, 429]],
  ] as const)(
    'follows onStoreFailure: %s while Redis is down, and recovers',
    async (onStoreFailure, expected) => {
      const redis = await startRedis()
      ends.push(() => redis.stop())
      const { url } = await start(redisStore(redis.url), { ...TWO, options: { onStoreFailure } })
      await redis.kill()
      const startMs = performance.now()
      const statuses: number[] = []
      for (const _ of expected) statuses.push(...(await statusesOf(url, 1)))
      expect(statuses).toStrictEqual(expected)
      expect(performance.now() - startMs).toBeLessThan(5000)
      await redis.restart()
      await expect.poll(() => statusesOf(url, 4), { timeout: 10_000 }).toContain(429)
    },
  )
})

async function scriptCalls(): Promise<number> {
  const stats = await server.ask('INFO commandstats')
  return [...stats.matchAll(/cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/g)].reduce(
    (sum, match) => sum + Number(match[1]),
    0,
  )
}

async function startProcess(): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('./app-process.mjs', import.meta.url)), [server.url])
  await once(child, 'message')
  return child
}

async function request(child: ChildProcess, load: object): Promise<number[]> {
  const answer = once(child, 'message')
  child.send(load)
  const [statuses] = await answer
  return statuses
}
