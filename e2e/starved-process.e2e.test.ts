import { expect, it } from 'vitest'
import { report } from './src/figures.js'
import { createHttpClient } from './src/http-client.js'
import { askService } from './src/load.js'
import { useHealthyRedis } from './src/processes/healthy-redis.js'
import { startLimiter } from './src/processes/limiter-process.js'
import { startService } from './src/processes/service.js'
import { type Starvation, starve } from './src/processes/starve.js'
import {
  compareLimiter,
  compareService,
  expectLimitHeld,
  figuresOf,
  inWords,
  SLOW_PROCESS_TIMEOUT_MS,
} from './src/slow-process.js'
import { storeFailuresOf } from './src/store-failures.js'

const MIN_STOPS = 20

const redis = useHealthyRedis()

it(
  'a process with a tenth of a core and an idle Redis admits at most the limit',
  async () => {
    const methods = new Set<string>()
    let stops = 0
    async function slowDown(process: Parameters<typeof starve>[0]): Promise<Pick<Starvation, 'end'>> {
      const starvation = await starve(process)
      methods.add(starvation.method)
      return {
        async end() {
          stops += starvation.stops()
          await starvation.end()
        },
      }
    }
    const library = await compareLimiter({ redisUrl: redis().url, slowDown })
    const service = await compareService({ redisUrl: redis().url, slowDown })
    const method = [...methods].join(', ')
    report({
      name: 'starved-process',
      place: 13,
      fault: `a process with a tenth of a core (${method}), Redis idle`,
      promise: 'admits at most 1 % more than with a whole core; no response `open`; no failed store reported',
      seen: `${inWords('library', library)}; ${inWords('service', service)}`,
      figures: { method, stops, ...figuresOf('library', library), ...figuresOf('service', service) },
    })
    // The processes were starved.
    expect(stops).toBeGreaterThan(MIN_STOPS)
    expectLimitHeld(library)
    expectLimitHeld(service)
  },
  SLOW_PROCESS_TIMEOUT_MS,
)

const cold = { algorithm: 'fixed-window', limit: 10, window: '365d', name: 'cold' } as const

it(
  'a limiter that is starved from its start on connects, and reports no failed store',
  async () => {
    let starvation: Starvation | undefined
    const limiter = await startLimiter(redis().url, cold, {
      async onSpawn(child) {
        starvation = await starve(child)
      },
    })
    try {
      const made = await limiter.run({ perSecond: 20, checks: 20, perKey: 20, prefix: 'cold' })
      expect(await limiter.events()).toStrictEqual([])
      expect(made.filter(({ degraded }) => degraded !== undefined)).toStrictEqual([])
      expect(made.filter(({ allowed }) => allowed)).toHaveLength(cold.limit)
    } finally {
      await limiter.stop()
      await starvation?.end()
    }
  },
  SLOW_PROCESS_TIMEOUT_MS,
)

it(
  'a service that is starved from its start on connects, and reports no failed store',
  async () => {
    let starvation: Starvation | undefined
    const yaml = `store: '${redis().url}'\npolicies: { cold: { algorithm: fixed-window, limit: 10, window: 365d } }`
    const service = await startService(yaml, {
      async onSpawn(child) {
        starvation = await starve(child)
      },
    })
    const http = createHttpClient()
    try {
      for (let n = 0; n < 2 * cold.limit; n++) {
        const { status, degraded } = await askService(http, service.url, cold.name, 'cold')
        expect([n, status, degraded]).toStrictEqual([n, n < cold.limit ? 200 : 429, undefined])
      }
      const { body } = await http.get(`${service.url}/actuator/prometheus`)
      expect(storeFailuresOf(service, body)).toStrictEqual([])
    } finally {
      http.close()
      await service.stop()
      await starvation?.end()
    }
  },
  SLOW_PROCESS_TIMEOUT_MS,
)
