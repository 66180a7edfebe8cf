import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ALGORITHM_NAMES, type AlgorithmName, type definePolicy } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../test/redis-server.js'

// Separate processes with the built package at one key. The error that is allowed is none.

const PROGRAM = fileURLToPath(new URL('../test/load-process.mjs', import.meta.url))
const LIMIT = 1000
const ATTEMPTS = 5000
const IN_FLIGHT = 500
const ROUNDS = 10
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

interface Answer {
  allowed: number
  failed: number
  /** The store's time of the earliest and of the latest decision. */
  firstMs: number
  lastMs: number
  /** The process's own clock. */
  clockMs: number
}

type PolicyOptions = Parameters<typeof definePolicy>[0]

const children: ChildProcess[] = []
let server: RedisServer
let rounds = 0

beforeAll(async () => {
  server = await startRedis()
})
afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  await server?.stop()
})

async function startProcesses(skewsMs: readonly number[]): Promise<ChildProcess[]> {
  const started = skewsMs.map((skewMs) =>
    fork(PROGRAM, { env: { ...process.env, REDIS_URL: server.url, CLOCK_SKEW_MS: String(skewMs) } }),
  )
  children.push(...started)
  await Promise.all(started.map((child) => reply(child)))
  return started
}

function reply(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message)
    })
  })
}

/** Policies that give nothing back within a round, unless their window turns in the middle of it. */
function optionsOf(algorithm: AlgorithmName, windowMs: number, rate: string): PolicyOptions {
  const name = `exact-${algorithm}`
  if (algorithm === 'token-bucket') return { algorithm, name, capacity: LIMIT, refillRate: rate }
  if (algorithm === 'leaky-bucket') return { algorithm, name, capacity: LIMIT, leakRate: rate }
  return { algorithm, name, limit: LIMIT, window: windowMs }
}

/** All processes at one new key at once; again with another key if the window turned by the store's time. */
async function round(
  processes: readonly ChildProcess[],
  options: PolicyOptions,
  windowMs: number,
): Promise<Answer[]> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const key = `round-${rounds++}`
    const answers = (await Promise.all(
      processes.map((child) => {
        const answer = reply(child)
        child.send({ options, key, attempts: ATTEMPTS, inFlight: IN_FLIGHT })
        return answer
      }),
    )) as Answer[]
    const first = Math.min(...answers.map(({ firstMs }) => firstMs))
    const last = Math.max(...answers.map(({ lastMs }) => lastMs))
    if (Math.floor(first / windowMs) === Math.floor(last / windowMs)) return answers
  }
  throw new Error('three rounds in a row met the end of a window')
}

function sum(answers: readonly Answer[], field: 'allowed' | 'failed'): number {
  return answers.reduce((total, answer) => total + answer[field], 0)
}

describe('four processes with 5,000 attempts each at one key are allowed exactly its 1,000', () => {
  let processes: ChildProcess[]
  beforeAll(async () => {
    processes = await startProcesses([0, 0, 0, 0])
  })

  it.each(ALGORITHM_NAMES)(`%s, ${ROUNDS} rounds`, async (algorithm) => {
    const options = optionsOf(algorithm, DAY_MS, '1/1h')
    for (let i = 0; i < ROUNDS; i++) {
      const answers = await round(processes, options, DAY_MS)
      expect([i, sum(answers, 'allowed'), sum(answers, 'failed')]).toStrictEqual([i, LIMIT, 0])
    }
  })
})

describe('two processes whose clocks differ by 60 s share one limit exactly', () => {
  let processes: ChildProcess[]
  beforeAll(async () => {
    processes = await startProcesses([0, MINUTE_MS])
  })

  // A window of the very length by which the clocks differ: by their own clocks, each would have one alone.
  it.each(ALGORITHM_NAMES)('%s', async (algorithm) => {
    const answers = await round(processes, optionsOf(algorithm, MINUTE_MS, '1/1m'), MINUTE_MS)
    const [right, wrong] = answers as [Answer, Answer]
    expect(wrong.clockMs - right.clockMs).toBeGreaterThan(MINUTE_MS / 2)
    expect([sum(answers, 'allowed'), sum(answers, 'failed')]).toStrictEqual([LIMIT, 0])
    // And both were told the server's time.
    expect(Math.abs(wrong.lastMs - right.lastMs)).toBeLessThan(MINUTE_MS / 2)
  })
})
