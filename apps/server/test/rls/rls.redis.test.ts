import { freePort } from '@tidegate/fixtures/free-port'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startProcess } from '../process.js'
import { redisStore, startService, type TestService } from '../start-service.js'
import { ATOMIC, LIMITS, type LimitsFolder, limitsFolder } from './limits-folder.js'
import { type RlsClient, rlsClient } from './rls-client.js'

let folder: LimitsFolder
beforeAll(() => {
  folder = limitsFolder({ 'shop.yaml': LIMITS, 'pair.yaml': ATOMIC })
})
afterAll(() => folder?.remove())

const user = (value: string, hits = 0) => ({
  domain: 'shop',
  hitsAddend: hits,
  descriptors: [{ entries: [{ key: 'user', value }] }],
})

describe('on Redis', () => {
  let redis: RedisServer
  const services: TestService[] = []
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close()
  })
  afterAll(() => redis?.stop())

  const start = async (settings = '', store = redisStore(redis)) => {
    const service = await startService(
      `store: ${store}\nrls: { listen: 0, config: [${folder.path}]${settings} }`,
    )
    services.push(service)
    return service.service.rls!
  }

  it('four instances allow exactly the limit, and take two limits all or nothing', async () => {
    const all = [await start(), await start(), await start(), await start()]
    const pair = {
      domain: 'pair',
      hitsAddend: 0,
      descriptors: ['a', 'b'].map((key) => ({ entries: [{ key, value: 'x' }] })),
    }
    const allowed = async (request: Parameters<(typeof all)[0]['shouldRateLimit']>[0]) => {
      const sent = Array.from({ length: 200 }, (_, i) => all[i % all.length]!.shouldRateLimit(request))
      return (await Promise.all(sent)).filter(({ overallCode }) => overallCode === 1).length
    }
    expect(await allowed(user('x'))).toBe(100)
    expect(await allowed(pair)).toBe(50)
    const look = { entries: [{ key: 'b', value: 'x' }], hitsAddend: { value: 0 } }
    const { statuses } = await all[0]!.shouldRateLimit({ domain: 'pair', hitsAddend: 0, descriptors: [look] })
    expect(statuses[0]!.limitRemaining).toBe(30)
  })

  it('decides a series of hits as in memory', async () => {
    const [onRedis, inMemory] = [await start(), await start('', 'memory')]
    const series = [1, 0, 40, 58, 1, 1, 1, 3, 2, 100, 1].map((value, i) => ({
      domain: 'shop',
      hitsAddend: 0,
      descriptors: ['p', 'q', `r${i}`].map((name) => ({
        entries: [{ key: 'user', value: name }],
        hitsAddend: { value },
      })),
    }))
    for (const request of series) {
      const answers = await Promise.all([onRedis, inMemory].map((rls) => rls.shouldRateLimit(request)))
      const [one, other] = answers.map(({ overallCode, statuses }) => [
        overallCode,
        statuses.map(({ code, limitRemaining }) => [code, limitRemaining]),
      ])
      expect(one).toStrictEqual(other)
    }
  })
})

describe('while Redis is unavailable', () => {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close()
  })

  it('onStoreFailure decides, until Redis is back', async () => {
    const redis = await startRedis()
    open.push({ close: () => redis.stop() })
    const start = async (mode: string) => {
      const service = await startService(`
store: { url: '${redis.url}', connectTimeout: 1s }
rls: { listen: 0, config: [${folder.path}], onStoreFailure: ${mode} }`)
      open.unshift(service)
      const rls = service.service.rls!
      await rls.shouldRateLimit(user('before'))
      return async (key: string, hits: number) => {
        try {
          const { statuses } = await rls.shouldRateLimit(user(key, hits))
          return `${statuses[0]!.code === 2 ? 'OVER' : 'OK'} ${statuses[0]!.limitRemaining}`
        } catch (error) {
          return (error as { kind?: string }).kind
        }
      }
    }
    const modes = ['error', 'open', 'closed', 'local']
    const all = await Promise.all(modes.map(start))
    await redis.kill()
    const answers = await Promise.all(all.map(async (ask) => [await ask('x', 1), await ask('x', 200)]))
    expect(answers).toStrictEqual([
      ['unavailable', 'unavailable'],
      ['OK 0', 'OVER 0'],
      ['OVER 0', 'OVER 0'],
      ['OK 99', 'OVER 0'],
    ])
    await redis.restart()
    const isBack = async (ask: (typeof all)[0], i: number) => (await ask(`back-${i}`, 1))?.startsWith('OK 9')
    await until('the store to be back', async () => (await Promise.all(all.map(isBack))).every(Boolean), {
      timeoutMs: 20_000,
    })
  })
})

describe('tidegate start --rls --workers 2', () => {
  it('serves gRPC from every worker, with one count', async () => {
    const redis = await startRedis()
    const address = `127.0.0.1:${await freePort()}`
    const args = ['--rls', address, '--rls-config', folder.path, '--workers', '2', '--store', redis.url]
    const server = await startProcess(args)
    let clients: RlsClient[] = []
    try {
      const serving = () =>
        server.log().filter(({ msg }) => msg === `Rate limit service for Envoy listening on ${address}`)
      await until('both workers to serve', () => serving().length === 2)
      expect(
        serving()
          .map(({ worker }) => worker)
          .toSorted(),
      ).toStrictEqual([1, 2])
      clients = [rlsClient(address), rlsClient(address)]
      const request = { domain: 'shop', descriptors: [{ entries: [['user', 'w']] }], times: 100 }
      const counts = await Promise.all(clients.map((client) => client.send(request)))
      expect(counts.reduce((sum, { OK = 0 }) => sum + OK, 0)).toBe(100)
    } finally {
      for (const client of clients) await client.close()
      await server.stop()
      await redis.stop()
    }
  })
})
