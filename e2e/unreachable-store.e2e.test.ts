import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { freePort } from '@tidegate/fixtures/free-port'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { pause, until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { type ClientOptions, type ClientProcess, startClient } from './src/processes/client-process.js'
import { startService } from './src/processes/service.js'

/** The reason of an unreachable store is known at once; a check must not wait for a connection attempt. */
const SOON_MS = 200
const READY_WITHIN_MS = 5000
const CHECKS = 15
const BETWEEN_MS = 100
const BACK_WITHIN_MS = 15_000

const UNAVAILABLE = 'TIDEGATE_STORE_UNAVAILABLE'
const RECOVERED = 'TIDEGATE_STORE_RECOVERED'
const PASSWORD = 'wrong-secret'

/** A store or service that cannot be reached as configured. */
interface Place {
  readonly url: string
  /** Makes the store reachable. Undefined: only another configuration can. */
  readonly repair?: () => Promise<unknown>
}

interface Fault {
  readonly name: string
  readonly kind: ClientOptions['kind']
  /** The reason that the warning and `ready()` must state. */
  readonly reason: RegExp
  readonly open: () => Promise<Place>
}

/** The servers and processes that a test has started, in order. */
const started: { stop(): Promise<unknown> }[] = []
async function keep<Started extends { stop(): Promise<unknown> }>(
  starting: Promise<Started>,
): Promise<Started> {
  const one = await starting
  started.push(one)
  return one
}
afterEach(async () => {
  for (const one of started.splice(0).reverse()) await one.stop()
})

const FAULTS: Fault[] = [
  {
    name: 'Redis, connection refused',
    kind: 'redis',
    reason: /ECONNREFUSED/,
    async open() {
      const port = await freePort()
      return { url: `redis://127.0.0.1:${port}`, repair: () => keep(startRedis([], { port })) }
    },
  },
  {
    name: 'Redis, unknown host',
    kind: 'redis',
    reason: /ENOTFOUND|EAI_AGAIN/,
    open: async () => ({ url: 'redis://no-such-host.invalid:6379' }),
  },
  {
    name: 'Redis, wrong password',
    kind: 'redis',
    reason: /WRONGPASS|password/i,
    async open() {
      const redis = await keep(startRedis(['--requirepass', 'right']))
      return {
        url: `redis://:${PASSWORD}@127.0.0.1:${redis.port}`,
        repair: () => redis.ask(`AUTH right\r\nCONFIG SET requirepass ${PASSWORD}`),
      }
    },
  },
  {
    name: 'Redis, TLS to a plain port',
    kind: 'redis',
    reason: /TLS|SSL|wrong version/i,
    async open() {
      const { port } = await keep(startRedis())
      return { url: `rediss://127.0.0.1:${port}` }
    },
  },
  {
    name: 'Redis, no TLS to a TLS port',
    kind: 'redis',
    reason: /closed|ECONNRESET|TLS/i,
    async open() {
      const { port } = await keep(startRedis([], { certificate: makeCertificate() }))
      return { url: `redis://127.0.0.1:${port}` }
    },
  },
  {
    name: 'Redis, untrusted certificate',
    kind: 'redis',
    reason: /certificate/i,
    async open() {
      const { port } = await keep(startRedis([], { certificate: makeCertificate() }))
      return { url: `rediss://127.0.0.1:${port}` }
    },
  },
  {
    name: 'Redis, database 99',
    kind: 'redis',
    reason: /DB index|out of range|database/i,
    async open() {
      const { url } = await keep(startRedis())
      return { url: `${url}/99` }
    },
  },
  {
    name: 'Redis, read-only replica',
    kind: 'redis',
    reason: /READONLY|read.only/i,
    async open() {
      // The primary is on the port of the discard service, where no Redis listens.
      const redis = await keep(startRedis(['--replicaof', '127.0.0.1', '9']))
      return { url: redis.url, repair: () => redis.ask('REPLICAOF NO ONE') }
    },
  },
  {
    name: 'service, connection refused',
    kind: 'remote',
    reason: /ECONNREFUSED/,
    async open() {
      const port = await freePort()
      return { url: `http://127.0.0.1:${port}`, repair: () => keep(startService(SERVICE_YAML, { port })) }
    },
  },
  {
    name: 'service, unknown host',
    kind: 'remote',
    reason: /ENOTFOUND|EAI_AGAIN/,
    open: async () => ({ url: 'http://no-such-host.invalid:8080' }),
  },
  {
    name: 'service, another web server',
    kind: 'remote',
    reason: /404/,
    async open() {
      const { url } = await keep(startWebServer())
      return { url }
    },
  },
]

const SERVICE_YAML = 'policies: { exact: { algorithm: fixed-window, limit: 1000000, window: 365d } }'

describe('a store that was never reached', () => {
  const seen = { faults: 0, recovered: 0, secondCheckMs: [] as number[], readyMs: [] as number[] }

  it.each(FAULTS)('$name: one warning with the reason, and checks do not wait', async (fault) => {
    const { url, repair } = await fault.open()
    const client = await keep(startClient({ kind: fault.kind, url }))
    const first = await client.check()
    const second = await client.check()
    const ready = [
      ...(fault.kind === 'redis' ? [await client.storeReady()] : []),
      await client.limiterReady(),
    ]
    for (let i = 0; i < CHECKS; i++) {
      await client.check()
      await pause(BETWEEN_MS)
    }

    expect(problemsOf(fault, client, [first, second])).toStrictEqual([])
    expect(second.tookMs).toBeLessThan(SOON_MS)
    for (const { error, tookMs } of ready) {
      expect(error).toStrictEqual({ code: 'STORE_FAILED', message: expect.stringMatching(fault.reason) })
      expect(error?.message).not.toContain(PASSWORD)
      expect(tookMs).toBeLessThan(READY_WITHIN_MS)
    }
    if (repair !== undefined) {
      await repair()
      await expectRecovery(client, fault.kind)
      seen.recovered++
    }
    seen.faults++
    seen.secondCheckMs.push(second.tookMs)
    seen.readyMs.push(...ready.map(({ tookMs }) => tookMs))
  })

  it('prints nothing if the application handles events', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    const client = await keep(startClient({ kind: 'redis', url, listens: true }))
    for (let i = 0; i < CHECKS; i++) await client.check()
    expect((await client.limiterReady()).error?.code).toBe('STORE_FAILED')
    expect(client.stderr()).toBe('')
  })

  it.each(['redis', 'remote'] as const)('a reachable %s store is ready, without a warning', async (kind) => {
    const { url } = await (kind === 'redis' ? keep(startRedis()) : keep(startService(SERVICE_YAML)))
    const client = await keep(startClient({ kind, url }))
    if (kind === 'redis') expect((await client.storeReady()).error).toBe(undefined)
    expect((await client.limiterReady()).error).toBe(undefined)
    const { value } = await client.check()
    expect([value?.allowed, value?.degraded]).toStrictEqual([true, undefined])
    expect(client.stderr()).toBe('')
  })

  afterAll(() => {
    if (seen.faults < FAULTS.length) return
    report({
      name: 'unreachable-store',
      place: 16,
      fault: `a store that was never reached: ${FAULTS.map(({ name }) => name).join('; ')}`,
      promise:
        'one process warning with the reason, and one when the store is back; `ready()` rejects with the reason; checks do not wait',
      seen:
        `${seen.faults} faults, one warning each; the second check took at most ${whole(highest(seen.secondCheckMs))} ms, ` +
        `\`ready()\` rejected within ${whole(highest(seen.readyMs))} ms; ${seen.recovered} recoveries, one warning each`,
      figures: {
        faults: seen.faults,
        recovered: seen.recovered,
        slowestSecondCheckMs: highest(seen.secondCheckMs),
        slowestReadyMs: highest(seen.readyMs),
      },
    })
  })
})

/** The problems in the warnings of a client and in its first decisions. */
function problemsOf(
  { reason }: Fault,
  client: ClientProcess,
  results: readonly Awaited<ReturnType<ClientProcess['check']>>[],
): string[] {
  const stderr = client.stderr()
  const warnings = warningsOf(stderr, UNAVAILABLE)
  const problems = results.flatMap(({ value, error }) =>
    value?.degraded === 'open'
      ? []
      : [`a check must be answered open, got ${JSON.stringify(value ?? error)}`],
  )
  if (warnings.length !== 1) problems.push(`${warnings.length} warnings instead of one`)
  if (warnings[0] !== undefined && !reason.test(warnings[0]))
    problems.push(`the warning has no reason: ${warnings[0]}`)
  if (stderr.includes(PASSWORD)) problems.push('the password is printed')
  if (warningsOf(stderr, RECOVERED).length > 0) problems.push('a recovery is reported during the fault')
  return problems
}

async function expectRecovery(client: ClientProcess, kind: ClientOptions['kind']): Promise<void> {
  await until(
    'a check that the store answers',
    async () => {
      const { value } = await client.check()
      return value !== undefined && value.degraded === undefined
    },
    { timeoutMs: BACK_WITHIN_MS, everyMs: BETWEEN_MS },
  )
  await until('the recovery to be reported', () => warningsOf(client.stderr(), RECOVERED).length > 0, {
    timeoutMs: 2000,
  })
  for (let i = 0; i < 5; i++) await client.check()
  if (kind === 'redis') expect((await client.storeReady()).error).toBe(undefined)
  expect((await client.limiterReady()).error).toBe(undefined)
  const stderr = client.stderr()
  expect([warningsOf(stderr, UNAVAILABLE).length, warningsOf(stderr, RECOVERED).length]).toStrictEqual([1, 1])
}

/** The warnings with a code, as Node.js prints them. */
function warningsOf(stderr: string, code: string): string[] {
  return stderr.split(/(?=\(node:\d+\) )/).filter((text) => text.includes(`[${code}]`))
}

/** A web server that is not Tidegate. */
async function startWebServer(): Promise<{ url: string; stop(): Promise<unknown> }> {
  const server = createServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
