import { freePort } from '@tidegate/fixtures/free-port'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { childrenOf, configFile, type ServerProcess, startProcess } from '../process.js'
import { expositionAt, valueIn } from '../scrape.js'
import { redisStore } from '../start-service.js'
import { ATOMIC, LIMITS, type LimitsFolder, limitsFolder } from './limits-folder.js'
import { type RlsClient, rlsClient } from './rls-client.js'

const TIMEOUT_MS = 120_000

let redis: RedisServer
let config: ReturnType<typeof configFile>
let folder: LimitsFolder
const servers: ServerProcess[] = []
const clients: RlsClient[] = []
beforeAll(async () => {
  redis = await startRedis()
  config = configFile(`store: ${redisStore(redis)}\n`)
})
afterAll(async () => {
  config?.remove()
  await redis?.stop()
})
beforeEach(() => {
  folder = limitsFolder({ 'shop.yaml': LIMITS, 'pair.yaml': ATOMIC })
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const server of servers.splice(0)) await server.stop()
  folder.remove()
})

async function start(...args: readonly string[]): Promise<{ server: ServerProcess; address: string }> {
  const address = `127.0.0.1:${await freePort()}`
  const rls = ['--rls', address, '--rls-config', folder.path]
  const server = await startProcess(['--config', config.path, ...rls, ...args])
  servers.push(server)
  return { server, address }
}

function connect(address: string): RlsClient {
  const client = rlsClient(address)
  clients.push(client)
  return client
}

it(
  'four processes allow exactly the limit of 200 requests at once, and all or nothing of two limits',
  async () => {
    const addresses = (await Promise.all(Array.from({ length: 4 }, () => start()))).map(
      ({ address }) => address,
    )
    const all = addresses.map(connect)
    /** How many of 200 requests are allowed, and how many are denied. */
    const send = async (request: object) => {
      const counts = await Promise.all(all.map((client) => client.send({ ...request, times: 50 })))
      const sum = (code: string) => counts.reduce((total, one) => total + (one[code] ?? 0), 0)
      return [sum('OK'), sum('OVER_LIMIT')]
    }
    const entries = (key: string) => ({ entries: [[key, 'x']] })
    expect(await send({ domain: 'shop', descriptors: [entries('user')] })).toStrictEqual([100, 100])
    expect(await send({ domain: 'pair', descriptors: [entries('a'), entries('b')] })).toStrictEqual([50, 150])
    const look = { domain: 'pair', descriptors: [{ ...entries('b'), hits: 0 }] }
    expect((await all[3]!.send(look)).statuses[0].remaining).toBe(30)
  },
  TIMEOUT_MS,
)

it(
  'workers that start while the files have errors get the limits of the earlier workers',
  async () => {
    // A fixed port: without any worker, a free one is chosen again.
    const { server, address } = await start('--workers', '2', '--port', String(await freePort()))
    const lines = (text: string) => server.log().filter(({ msg }) => msg.includes(text))
    await until('both workers to serve', () => lines(`listening on ${address}`).length === 2)
    folder.write('shop.yaml', LIMITS.replace('day', 'fortnight'))
    await until('both to report the errors', () => lines('limit files are invalid').length === 2)
    for (const pid of childrenOf(server.process)) process.kill(pid, 'SIGKILL')
    await until('two others to serve', () => lines(`listening on ${address}`).length === 4)
    expect(lines('limit files are invalid')[3]?.errors).toStrictEqual([
      expect.stringContaining(
        'unknown unit "fortnight"; write one of second, minute, hour, day, week, month, year',
      ),
    ])
    expect(valueIn(await expositionAt(server.url), 'rate_limiter_rls_config_stale')).toBe(1)
    const [one, other] = [connect(address), connect(address)]
    const request = { domain: 'shop', descriptors: [{ entries: [['user', 'stale']] }], times: 60 }
    const counts = await Promise.all([one, other].map((client) => client.send(request)))
    expect(counts.reduce((sum, { OK = 0 }) => sum + OK, 0)).toBe(100)
    folder.write('shop.yaml', LIMITS.replace('100', '130'))
    await until('both to have the corrected limits', () => lines('limits reloaded').length === 2)
    expect(await one.send({ ...request, times: 1 })).toMatchObject({ OK: 1 })
    expect(server.log().filter(({ signal }) => signal !== undefined)).toHaveLength(2)
  },
  TIMEOUT_MS,
)
