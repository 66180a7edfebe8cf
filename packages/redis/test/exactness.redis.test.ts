import { ALGORITHM_NAMES, type AlgorithmName } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RedisStoreOptions } from '../src/redis-store.js'
import { type LoadAnswer, type LoadProcess, type PolicyOptions, startProcesses } from './processes.js'

// Separate processes with the built package check one key. Together they are allowed exactly the limit.

const LIMIT = 1000
const ATTEMPTS = 5000
const IN_FLIGHT = 500
const ROUNDS = 10
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Long, so that no check fails during a pause of a busy machine. */
const PATIENT: RedisStoreOptions = { connectTimeoutMs: 20_000 }
const STORES: [string, RedisStoreOptions][] = [
  ['with default options but a long timeout', PATIENT],
  ['without the denial cache', { ...PATIENT, denialCacheMs: 0 }],
]

const processes: LoadProcess[] = []
let server: RedisServer
let rounds = 0

beforeAll(async () => {
  server = await startRedis()
})
afterAll(async () => {
  await Promise.all(processes.map((one) => one.stop()))
  await server?.stop()
})

async function start(skewsMs: readonly number[], store: RedisStoreOptions): Promise<LoadProcess[]> {
  const started = await startProcesses(skewsMs.map((skewMs) => ({ redisUrl: server.url, store, skewMs })))
  processes.push(...started)
  return started
}

/** Policies whose units do not become available again within a round, unless a window ends in it. */
function optionsOf(algorithm: AlgorithmName, windowMs: number, rate: string): PolicyOptions {
  const name = `exact-${algorithm}`
  if (algorithm === 'token-bucket') return { algorithm, name, capacity: LIMIT, refillRate: rate }
  if (algorithm === 'leaky-bucket') return { algorithm, name, capacity: LIMIT, leakRate: rate }
  return { algorithm, name, limit: LIMIT, window: windowMs }
}

/** All processes check one new key at once. Repeated with another key if a window ended meanwhile. */
async function round(
  all: readonly LoadProcess[],
  options: PolicyOptions,
  windowMs: number,
): Promise<LoadAnswer[]> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const key = `round-${rounds++}`
    const answers = await Promise.all(
      all.map((one) => one.load({ options, key, attempts: ATTEMPTS, inFlight: IN_FLIGHT })),
    )
    const first = Math.min(...answers.map(({ firstMs }) => firstMs))
    const last = Math.max(...answers.map(({ lastMs }) => lastMs))
    if (Math.floor(first / windowMs) === Math.floor(last / windowMs)) return answers
  }
  throw new Error('a window ended in each of three rounds')
}

/** How many were allowed, and why others failed. */
function outcome(answers: readonly LoadAnswer[]): { allowed: number; failures: string[] } {
  return {
    allowed: answers.reduce((total, { allowed }) => total + allowed, 0),
    failures: [...new Set(answers.flatMap(({ failures }) => failures))],
  }
}

describe.each(STORES)('%s', (_, store) => {
  describe('four processes with 5,000 attempts each at one key are allowed exactly its 1,000', () => {
    let four: LoadProcess[]
    beforeAll(async () => {
      four = await start([0, 0, 0, 0], store)
    })

    it.each(ALGORITHM_NAMES)(`%s, ${ROUNDS} rounds`, async (algorithm) => {
      const options = optionsOf(algorithm, DAY_MS, '1/1h')
      for (let i = 0; i < ROUNDS; i++) {
        const answers = await round(four, options, DAY_MS)
        expect({ i, ...outcome(answers) }).toStrictEqual({ i, allowed: LIMIT, failures: [] })
      }
    })
  })

  describe('two processes whose clocks differ by 60 s share one limit exactly', () => {
    let two: LoadProcess[]
    beforeAll(async () => {
      two = await start([0, MINUTE_MS], store)
    })

    // A window as long as the difference: by their own clocks, each process would be in another window.
    it.each(ALGORITHM_NAMES)('%s', async (algorithm) => {
      const answers = await round(two, optionsOf(algorithm, MINUTE_MS, '1/1m'), MINUTE_MS)
      const [right, wrong] = answers as [LoadAnswer, LoadAnswer]
      expect(wrong.clockMs - right.clockMs).toBeGreaterThan(MINUTE_MS / 2)
      expect(outcome(answers)).toStrictEqual({ allowed: LIMIT, failures: [] })
      // Both decisions have the server's time.
      expect(Math.abs(wrong.lastMs - right.lastMs)).toBeLessThan(MINUTE_MS / 2)
    })
  })
})
