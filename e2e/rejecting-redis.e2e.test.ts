import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause, until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { report, whole } from './src/figures.js'
import { createHttpClient } from './src/http-client.js'
import { askService, startLoad } from './src/load.js'
import { type ServiceProcess, startService, storeLevels } from './src/processes/service.js'

const MODES = ['open', 'closed', 'local'] as const
const policies = `policies:
  open: { algorithm: fixed-window, limit: 20, window: 1s, onStoreFailure: open }
  closed: { algorithm: fixed-window, limit: 20, window: 1s, onStoreFailure: closed }
  local: { algorithm: fixed-window, limit: 20, window: 1s, onStoreFailure: local, instances: 2 }
`

/** A Redis that is up and rejects calls: how that begins, and how it ends. */
interface Rejection {
  readonly name: string
  readonly args?: readonly string[]
  readonly login?: string
  begin?(redis: RedisServer): Promise<unknown>
  readonly end: (redis: RedisServer) => Promise<unknown>
}

const REJECTIONS: Rejection[] = [
  {
    name: 'out of memory',
    begin: (redis) => redis.ask('CONFIG SET maxmemory 1'),
    end: (redis) => redis.ask('CONFIG SET maxmemory 0'),
  },
  {
    name: 'a read-only replica',
    // No server listens on the port of the discard service.
    args: ['--replicaof', '127.0.0.1', '9'],
    end: (redis) => redis.ask('REPLICAOF NO ONE'),
  },
  {
    name: 'another password',
    args: ['--requirepass', 'right'],
    login: ', password: wrong',
    end: (redis) => redis.ask('AUTH right\r\nCONFIG SET requirepass wrong'),
  },
  {
    name: 'loading',
    async begin(redis) {
      await redis.ask(`EVAL "for i = 1, 4000 do redis.call('SET', 'key-' .. i, 'value') end" 0`)
      await redis.ask('SAVE')
      await redis.kill()
      // Redis loads one key per millisecond, and replies in between that it is loading.
      await redis.restart(['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024'])
    },
    end: (redis) =>
      until('Redis to have loaded', async () => (await redis.ask('INFO persistence')).includes('loading:0')),
  },
]

describe('a Redis that rejects calls', () => {
  const seen = { checks: 0, withoutStore: 0, kinds: 0 }
  let redis: RedisServer
  let service: ServiceProcess
  const http = createHttpClient()
  afterEach(async () => {
    await service?.stop()
    await redis?.stop()
  })
  afterAll(() => http.close())

  const statusOf = async () => JSON.parse((await http.get(`${service.url}/healthz`)).body).status

  it.each(REJECTIONS)(
    '$name: every policy follows its onStoreFailure, visibly, and is exact afterwards',
    async (rejection) => {
      redis = await startRedis(rejection.args)
      service = await startService(
        `store: { url: '${redis.url}', deadline: 250ms, denialCache: 0s${rejection.login ?? ''} }\n${policies}`,
      )
      const load = startLoad({
        perSecond: 900,
        target: (n) => ({ policy: MODES[n % MODES.length]!, key: 'k' }),
        ask: (policy, key) => askService(http, service.url, policy, key),
      })
      try {
        await pause(500)
        await rejection.begin?.(redis)
        await until('the service to be degraded', async () => (await statusOf()) === 'DEGRADED')
        // Redis still reads earlier counts, and denies by them, until their window ends.
        await pause(1100)
        load.made.length = 0
        await pause(1500)
        const during = [...load.made]
        const exposition = (await http.get(`${service.url}/metrics`)).body
        await rejection.end(redis)
        await until('the service to be up', async () => (await statusOf()) === 'UP')
        await pause(500)
        load.made.length = 0
        await pause(1000)
        await load.stop()

        const answers = new Set(
          during.map(({ policy, status, degraded }) => `${policy}: ${status} ${degraded}`),
        )
        expect([...answers].sort()).toStrictEqual([
          'closed: 503 closed',
          'local: 200 local',
          'local: 429 local',
          'open: 200 open',
        ])
        for (const mode of MODES) {
          expect(exposition).toMatch(new RegExp(`rate_limiter_degraded_total\\{mode="${mode}"\\} [1-9]`))
        }
        expect(exposition).toMatch(/rate_limiter_store_up 0/)
        // One line per change, also for a Redis that rejects calls from the start.
        expect(storeLevels(service)).toStrictEqual(['error', 'info'])
        expect(load.errors).toStrictEqual([])
        expect([service.process.exitCode, load.made.length > 500]).toStrictEqual([null, true])
        expect([...new Set(load.made.map(({ degraded }) => degraded))]).toStrictEqual([undefined])
        seen.checks += during.length
        seen.withoutStore += during.filter(({ degraded }) => degraded !== undefined).length
        seen.kinds++
      } finally {
        await load.stop()
      }
    },
  )

  afterAll(() => {
    if (seen.kinds < REJECTIONS.length) return
    report({
      name: 'rejecting-redis',
      place: 5,
      fault: `Redis ${REJECTIONS.map(({ name }) => name).join(', ')}`,
      promise: 'each policy’s `onStoreFailure`, visible, no crash',
      seen:
        `${whole(seen.checks)} checks while Redis rejected calls, all decided by \`onStoreFailure\`: 200, 503, or by a ` +
        `local count; visible in header, metrics, health and log; exact again without a restart`,
      figures: seen,
    })
  })
})
