import { expect } from 'vitest'
import { highest, whole } from './figures.js'
import type { Check } from './history/history.js'
import { createHttpClient } from './http-client.js'
import { askService } from './load.js'
import { type LimiterProcess, startLimiter } from './processes/limiter-process.js'
import { type ServiceProcess, startService } from './processes/service.js'
import { storeFailuresOf } from './store-failures.js'

/*
 * A limiter process, or a service, that is slow itself while Redis is idle. Both get more checks than their limit
 * admits; a window of a year makes the allowed number exact.
 */

/** Generous, because a slow process takes long on a busy machine. */
export const SLOW_PROCESS_TIMEOUT_MS = 240_000

const LIMIT = 50
/** Checks of each key, in a row. */
const PER_KEY = 200
const policy = { algorithm: 'fixed-window', limit: LIMIT, window: '365d', name: 'exact' } as const

interface SlowRun {
  readonly checks: number
  /** Units that the limit allows in all. */
  readonly allowed: number
  readonly admitted: number
  readonly open: number
  readonly local: number
  readonly slowestMs: number
}

/** The results of a process at full speed and while it was slow. */
export interface Comparison {
  readonly fast: SlowRun
  readonly slow: SlowRun
  /** Everything that the process reported about a failed store. */
  readonly storeFailures: readonly string[]
}

/** Slows a process down until `end`, which is called after the process has ended. */
type SlowDown = (
  process: LimiterProcess['process'] | ServiceProcess['process'],
) => Promise<{ end(): Promise<void> }>

export interface SlowOptions {
  readonly redisUrl: string
  readonly nodeArgs?: readonly string[]
  readonly slowDown: SlowDown
}

export async function compareLimiter({ redisUrl, nodeArgs, slowDown }: SlowOptions): Promise<Comparison> {
  const limiter = await startLimiter(redisUrl, policy, { nodeArgs })
  let slowness: { end(): Promise<void> } | undefined
  const run = async (prefix: string) =>
    summaryOf(await limiter.run({ perSecond: 2000, checks: LIBRARY_CHECKS, perKey: PER_KEY, prefix }))
  try {
    const fast = await run('library-fast')
    slowness = await slowDown(limiter.process)
    const slow = await run('library-slow')
    return { fast, slow, storeFailures: await limiter.events() }
  } finally {
    await limiter.stop()
    await slowness?.end()
  }
}

export async function compareService({
  redisUrl,
  nodeArgs = [],
  slowDown,
}: SlowOptions): Promise<Comparison> {
  const yaml = `store: '${redisUrl}'
policies:
  exact: { algorithm: fixed-window, limit: ${LIMIT}, window: 365d }
`
  const service = await startService(yaml, { nodeArgs })
  const http = createHttpClient({ connections: CONNECTIONS })
  let slowness: { end(): Promise<void> } | undefined

  /** As many requests at a time as there are connections. */
  async function run(prefix: string): Promise<SlowRun> {
    const made: Check[] = []
    let n = 0
    async function client(): Promise<void> {
      while (n < SERVICE_CHECKS) {
        const key = `${prefix}-${Math.floor(n++ / PER_KEY)}`
        const startMs = performance.now()
        const { allowed, degraded, status } = await askService(http, service.url, policy.name, key)
        expect([200, 429]).toContain(status)
        made.push({ startMs, endMs: performance.now(), key, cost: 1, allowed, degraded })
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, client))
    return summaryOf(made)
  }

  try {
    const fast = await run('service-fast')
    slowness = await slowDown(service.process)
    const slow = await run('service-slow')
    const { body } = await http.get(`${service.url}/actuator/prometheus`)
    return { fast, slow, storeFailures: storeFailuresOf(service, body) }
  } finally {
    http.close()
    await service.stop()
    await slowness?.end()
  }
}

const LIBRARY_CHECKS = 10_000
const SERVICE_CHECKS = 6000
const CONNECTIONS = 64

function summaryOf(made: readonly Check[]): SlowRun {
  const count = (mode: string) => made.filter(({ degraded }) => degraded === mode).length
  return {
    checks: made.length,
    allowed: Math.ceil(made.length / PER_KEY) * LIMIT,
    admitted: made.filter(({ allowed }) => allowed).length,
    open: count('open'),
    local: count('local'),
    slowestMs: highest(made.map(({ startMs, endMs }) => endMs - startMs)),
  }
}

/** A slow process must admit as many units as a fast one, and must not report store failures. */
export function expectLimitHeld({ fast, slow, storeFailures }: Comparison): void {
  expect(storeFailures).toStrictEqual([])
  for (const { admitted, allowed, open } of [fast, slow]) {
    expect(open).toBe(0)
    expect(admitted).toBeLessThanOrEqual(allowed * 1.01)
  }
}

export function inWords(name: string, { fast, slow }: Comparison): string {
  return (
    `${name}: ${whole(slow.admitted)} of ${whole(slow.checks)} checks admitted (${whole(fast.admitted)} by the fast ` +
    `process), ${slow.open} \`open\`, ${slow.local} by local count`
  )
}

export function figuresOf(name: string, { fast, slow }: Comparison): Record<string, number> {
  return Object.fromEntries(
    [
      ['fast', fast],
      ['slow', slow],
    ].flatMap(([speed, run]) =>
      Object.entries(run!).map(([field, value]) => [`${name}, ${speed}, ${field}`, value]),
    ),
  )
}
