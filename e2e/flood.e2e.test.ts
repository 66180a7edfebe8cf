import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { slidingWindowLog } from '@tidegate/core'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import {
  type BatchEntry,
  createTally,
  degradedCount,
  type FloodCheck,
  sendBatches,
  sendPipelined,
  sendStreams,
  type Tally,
} from './src/flood.js'
import { CHECK, createHttpClient } from './src/http-client.js'
import { startHealthyRedis } from './src/processes/healthy-redis.js'
import {
  type HonestClient,
  type HonestResult,
  sendRequests,
  startHonestClients,
} from './src/processes/honest-clients.js'
import { type ServiceProcess, startService } from './src/processes/service.js'
import { storeFailuresOf } from './src/store-failures.js'

const BURSTS = 10
const BETWEEN_BURSTS_MS = 50
const [BATCHES, BATCH_SIZE] = [6, 1000]
const CONNECTIONS = 32
/** Service and gateway close connections with more than 100 unanswered requests. */
const REQUESTS = 95
const [SESSIONS, STREAMS] = [4, 120]
const POLICIES = 200
/** Limits that one request of the gateway's route with many policies takes from. */
const FILTERS = 20
const LOG_LIMIT = 100_000
const LARGE_COST = 40_000
const USED_UP_LIMIT = 3
const STRICT_LIMIT = 100
const MIN_HONEST_REQUESTS = 10

/** One way to flood a healthy store. */
interface Flood {
  readonly name: string
  /** The limit of each flooded key, in units. */
  readonly limit: number
  /** The gateway needs TLS for HTTP/2. */
  readonly tls?: boolean
  readonly burst: (target: Target) => Promise<void>
}

interface Target {
  readonly service: ServiceProcess
  readonly tally: Tally
  /** Distinguishes the keys of this run from those of other runs. */
  readonly run: string
  /** A number that no other check of this run has. */
  next(): number
}

const FLOODS: Flood[] = [
  {
    name: 'service, batches of one key',
    limit: 100,
    burst: ({ service, tally, run }) =>
      sendBatches(
        service.url,
        batchesOf(() => ({ policy: 'flooded', key: run })),
        tally,
      ),
  },
  {
    name: 'service, pipelined requests of one key',
    limit: 100,
    burst: ({ service, tally, run }) =>
      sendPipelined(
        service.url,
        pipelinesOf(() => checkOf({ policy: 'flooded', key: run })),
        tally,
      ),
  },
  {
    name: 'service, fresh keys',
    limit: 100,
    burst: ({ service, tally, run, next }) =>
      sendBatches(
        service.url,
        batchesOf(() => ({ policy: 'flooded', key: `${run}-${next()}` })),
        tally,
      ),
  },
  {
    name: 'service, many policies',
    limit: 10,
    burst: ({ service, tally, run, next }) =>
      sendBatches(
        service.url,
        batchesOf(() => ({ policy: `policy-${next() % POLICIES}`, key: run })),
        tally,
      ),
  },
  {
    name: 'service, long logs',
    limit: LOG_LIMIT,
    burst: ({ service, tally }) =>
      sendBatches(
        service.url,
        batchesOf(() => ({ policy: 'log', key: 'long' })),
        tally,
      ),
  },
  {
    name: 'service, large costs',
    limit: LOG_LIMIT,
    burst: ({ service, tally, run, next }) =>
      sendBatches(
        service.url,
        batchesOf(() => ({ policy: 'log', key: `${run}-${next() % 100}`, permits: LARGE_COST })),
        tally,
      ),
  },
  {
    name: 'gateway, pipelined requests of one user',
    limit: 100,
    burst: (target) => sendPipelinedTo('/flooded', target, ({ run }) => run),
  },
  {
    name: 'gateway, HTTP/2 streams',
    limit: 3,
    tls: true,
    burst: ({ service, tally, run }) => {
      const check = gatewayCheckOf('/login', run)
      const lists = Array.from({ length: SESSIONS }, () => Array.from({ length: STREAMS }, () => check))
      return sendStreams(service.gatewayUrl!, certificate.cert, lists, tally)
    },
  },
  {
    name: 'gateway, fresh users',
    limit: 100,
    burst: (target) => sendPipelinedTo('/flooded', target, ({ run, next }) => `${run}-${next()}`),
  },
  {
    name: 'gateway, many policies',
    limit: 10,
    burst: (target) => sendPipelinedTo('/many', target, ({ run }) => run),
  },
  {
    name: 'gateway, long logs',
    limit: LOG_LIMIT,
    burst: (target) => sendPipelinedTo('/log', target, () => 'long'),
  },
  {
    name: 'gateway, large costs',
    limit: LOG_LIMIT,
    burst: (target) => sendPipelinedTo('/costly', target, ({ run }) => run, LARGE_COST),
  },
]

const certificate = makeCertificate()
const folder = mkdtempSync(join(tmpdir(), 'tidegate-flood-'))
const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
writeFileSync(certFile, certificate.cert)
writeFileSync(keyFile, certificate.key)

let redis: RedisServer
beforeAll(async () => {
  redis = await startHealthyRedis()
  await fillLog(redis.url)
})
afterAll(async () => {
  await redis?.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('a flood of a healthy Redis through a process on one core', () => {
  const seen = { floods: 0, bursts: 0, checks: 0, open: 0, local: 0, denied: 0, strict: 0, slowestMs: 0 }
  const figures: Record<string, string> = {}
  let runs = 0

  it.each(FLOODS)('$name: every limit holds, for the flooding client and for others', async (flood) => {
    const run = `run-${runs++}`
    const service = await startService(yamlOf(flood.tls === true), { core: 0 })
    const honest = honestClientsOf(service, run, flood.tls === true)
    const tally = createTally()
    let n = 0
    const target: Target = { service, tally, run, next: () => n++ }
    try {
      await useUp(honest)
      const clients = await startHonestClients(honest)
      try {
        for (let burst = 0; burst < BURSTS; burst++) {
          await flood.burst(target)
          await pause(BETWEEN_BURSTS_MS)
        }
        const results = await clients.stop()
        const exposition = await expositionOf(service)
        figures[flood.name] = summaryOf(tally, results, exposition)
        console.log(`${flood.name}: ${figures[flood.name]}`)

        expect([
          ...excessOf(tally, flood.limit),
          ...violationsOf(results),
          ...storeFailuresOf(service, exposition),
        ]).toStrictEqual([])
        // The flood reached the limiter.
        expect(tally.responses).toBeGreaterThan(1000)

        seen.floods++
        seen.bursts += BURSTS
        seen.checks += tally.responses
        seen.local += degradedCount(tally, 'local')
        seen.denied += sumOf(results, /^used up/, '429')
        seen.strict += sumOf(results, /^strict/, '')
        seen.slowestMs = Math.max(seen.slowestMs, highest(results.map(({ slowestMs }) => slowestMs)))
      } finally {
        await clients.kill()
      }
    } finally {
      await service.stop()
    }
  })

  afterAll(() => {
    if (seen.floods < FLOODS.length) return
    report({
      name: 'flood',
      place: 12,
      fault:
        'one client floods a healthy Redis through service and gateway, each on one core: batches of 1,000, pipelined ' +
        'requests, HTTP/2 streams, fresh keys, many policies, long logs, large costs; 10 bursts each',
      promise:
        'no response `open`; other clients stay limited; no 503 for other clients of a `closed` policy; the breaker stays closed',
      seen:
        `${whole(seen.checks)} checks in ${seen.bursts} bursts: 0 decided \`open\`, ${whole(seen.local)} by local count; ` +
        `a used-up key of another client denied ${whole(seen.denied)} of ${whole(seen.denied)} times; ` +
        `${whole(seen.strict)} requests under a \`closed\` policy, 0 got 503`,
      figures: { ...seen, ...figures },
    })
  })
})

/** A sliding log with one entry for almost every unit of its limit. */
async function fillLog(redisUrl: string): Promise<void> {
  const policy = slidingWindowLog({ limit: LOG_LIMIT, window: '365d', name: 'log' })
  // One check for each call: checks of one call have the same time, and share an entry.
  const store = new RedisStore(redisUrl, { maxBatch: 1, denialCacheMs: 0, connectTimeoutMs: 30_000 })
  try {
    for (let filled = 0; filled < LOG_LIMIT - 100; filled += 900) {
      const checks = Array.from({ length: 900 }, () => store.check({ policy, key: 'long', cost: 1 }))
      await Promise.all(checks)
    }
  } finally {
    await store.close()
  }
}

function yamlOf(tls: boolean): string {
  const listen = tls
    ? `{ port: 0, http2: true, tls: { certFile: '${certFile}', keyFile: '${keyFile}' } }`
    : '{ port: 0 }'
  const names = Array.from({ length: POLICIES }, (_, i) => `policy-${i}`)
  const limiter = (policy: string) => `{ name: RateLimiter, args: { policy: ${policy} } }`
  const route = (id: string, ...filters: string[]) =>
    `    - { id: ${id}, uri: 'no://op', predicates: [Path=/${id}], filters: [SetStatus=200, ${filters.join(', ')}] }`
  return `store: '${redis.url}'
policies:
  used-up: { algorithm: fixed-window, limit: ${USED_UP_LIMIT}, window: 365d }
  strict: { algorithm: fixed-window, limit: ${STRICT_LIMIT}, window: 365d, onStoreFailure: closed }
  flooded: { algorithm: fixed-window, limit: 100, window: 365d }
  log: { algorithm: sliding-window-log, limit: ${LOG_LIMIT}, window: 365d }
${names.map((name) => `  ${name}: { algorithm: fixed-window, limit: 10, window: 365d }`).join('\n')}
gateway:
  listen: ${listen}
  routes:
${[
  route('used-up', limiter('used-up')),
  route('strict', limiter('strict')),
  route('flooded', limiter('flooded')),
  route('log', limiter('log')),
  route('login', '{ name: FixedWindowRateLimiter, args: { limit: 3, windowSeconds: 31536000 } }'),
  route('many', ...names.slice(0, FILTERS).map(limiter)),
  route(
    'costly',
    `{ name: RequestRateLimiter, args: { redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: ${LOG_LIMIT}, redis-rate-limiter.requestedTokens: ${LARGE_COST}, key-resolver: userKeyResolver } }`,
  ),
].join('\n')}
`
}

function batchesOf(entry: () => BatchEntry): BatchEntry[][] {
  return Array.from({ length: BATCHES }, () => Array.from({ length: BATCH_SIZE }, entry))
}

function pipelinesOf(check: () => FloodCheck): FloodCheck[][] {
  return Array.from({ length: CONNECTIONS }, () => Array.from({ length: REQUESTS }, check))
}

function checkOf({ policy, key }: BatchEntry): FloodCheck {
  return { limit: `${policy}:${key}`, cost: 1, path: `${CHECK}?policy=${policy}&key=${key}` }
}

function gatewayCheckOf(path: string, user: string, cost = 1): FloodCheck {
  return { limit: `${path}:${user}`, cost, path, headers: { 'x-user-id': user } }
}

function sendPipelinedTo(
  path: string,
  target: Target,
  user: (target: Target) => string,
  cost = 1,
): Promise<void> {
  const lists = pipelinesOf(() => gatewayCheckOf(path, user(target), cost))
  return sendPipelined(target.service.gatewayUrl!, lists, target.tally)
}

/** For the service and the gateway each: a client whose limit is used up, and a client of a `closed` policy. */
function honestClientsOf({ url, gatewayUrl }: ServiceProcess, run: string, tls: boolean): HonestClient[] {
  return ['used-up', 'strict'].flatMap((policy) => {
    const name = policy.replace('-', ' ')
    const api = `${run}-api`
    return [
      { name: `${name}, service`, url: `${url}${CHECK}?policy=${policy}&key=${api}` },
      {
        name: `${name}, gateway`,
        url: `${gatewayUrl}/${policy}`,
        headers: { 'x-user-id': run },
        ...(tls ? { ca: certificate.cert } : {}),
      },
    ]
  })
}

/** Sends requests until the limits of the used-up clients are reached. */
async function useUp(honest: readonly HonestClient[]): Promise<void> {
  for (const client of honest.filter(({ name }) => name.startsWith('used up'))) {
    const responses = await sendRequests(client, USED_UP_LIMIT + 1)
    expect(responses).toStrictEqual({ '200 store': USED_UP_LIMIT, '429 store': 1 })
  }
}

/** The limits that admitted more than they allow, and responses that no limit decided. */
function excessOf(tally: Tally, limit: number): string[] {
  const excess = [...tally.admitted].flatMap(([name, { store, local }]) =>
    store > limit || store + local > 2 * limit
      ? [`${name}: ${store} units admitted by the store, ${local} without it, limit ${limit}`]
      : [],
  )
  const open = degradedCount(tally, 'open')
  if (open > 0) excess.push(`${open} of ${tally.responses} responses to the flood are open`)
  return excess
}

/** The wrong responses to the honest clients. */
function violationsOf(results: readonly HonestResult[]): string[] {
  return results.flatMap(({ name, responses, errors }) => {
    const count = (status: string) => sumOf([{ responses }], /^/, status)
    const allowed = name.startsWith('strict') ? Math.min(STRICT_LIMIT, count('')) : 0
    const isEnforced = count('200') === allowed && count('200') + count('429') === count('')
    const isBusy = count('') > MIN_HONEST_REQUESTS
    return isEnforced && isBusy && errors.length === 0
      ? []
      : [
          `${name}: ${allowed} must be allowed and the others denied, got ${JSON.stringify(responses)} ${errors}`,
        ]
  })
}

async function expositionOf({ url }: ServiceProcess): Promise<string> {
  const http = createHttpClient()
  try {
    return (await http.get(`${url}/actuator/prometheus`)).body
  } finally {
    http.close()
  }
}

function sumOf(
  results: readonly { name?: string; responses: HonestResult['responses'] }[],
  name: RegExp,
  status: string,
): number {
  return results
    .filter((result) => name.test(result.name ?? ''))
    .flatMap(({ responses }) => Object.entries(responses))
    .reduce((sum, [kind, n]) => (kind.startsWith(status) ? sum + n : sum), 0)
}

function summaryOf(tally: Tally, results: readonly HonestResult[], exposition: string): string {
  const admitted = [...tally.admitted.values()]
  const storeErrors = /^rate_limiter_store_errors_total\S* (\d+)/m.exec(exposition)?.[1]
  return JSON.stringify({
    responses: Object.fromEntries(tally.kinds),
    failures: tally.failures,
    mostAdmittedByStore: highest(admitted.map(({ store }) => store)),
    mostAdmittedLocally: highest(admitted.map(({ local }) => local)),
    storeErrors,
    honest: Object.fromEntries(
      results.map(({ name, responses, slowestMs }) => [
        name,
        { ...responses, slowestMs: Math.round(slowestMs) },
      ]),
    ),
  })
}
