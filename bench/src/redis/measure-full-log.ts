import { createLimiter, type Limiter, slidingWindowLog } from '@tidegate/core'
import { type IoredisClient, RedisStore } from '@tidegate/redis'
import type { Redis } from 'ioredis'
import type { Figures } from '../report/figures.js'
import { countCommands, timeScripts } from './command-stats.js'
import { connectToServer } from './connect.js'
import type { LogOfOneKey } from './redis-scenarios.js'

/** The server time of a check of a full log, as the server measures it: mean and longest. */
export async function measureFullLog(url: string, log: LogOfOneKey): Promise<Figures> {
  const { limit, cost, expiring, checks, copies } = log
  const client = await connectToServer(url)
  const stepUs = (WINDOW_MS / limit) * 1000
  const fullAtUs = Date.now() * 1000
  const clock = { nowUs: fullAtUs, stepUs: 0 }
  const store = new RedisStore(withClock(client, clock), {
    maxBatch: 1,
    denialCacheMs: 0,
  })
  const policy = slidingWindowLog({ limit, window: WINDOW_MS, name: 'log' })
  const limiter = createLimiter({ policy, store, failure: false })
  await fill(client, limit, fullAtUs, stepUs)
  await checkSetUp(limiter, stepUs / 1000)

  clock.stepUs = expiring * stepUs
  let allowed = 0
  async function checkCopies(): Promise<void> {
    for (let copy = 0; copy < copies; copy++) {
      clock.nowUs = fullAtUs
      for (let i = 0; i < checks; i++) {
        if ((await limiter.check(`copy-${copy}`, cost)).allowed) allowed++
      }
    }
  }
  await makeCopies(client, copies)
  await checkCopies()
  await makeCopies(client, copies)
  allowed = 0
  const counted = await countCommands(client, checkCopies)
  await makeCopies(client, copies)
  const heldUs = await timeScripts(client, checkCopies)
  client.disconnect()

  const all = checks * copies
  const expected = expiring === 0 ? 0 : 2 * all
  if (allowed !== expected) throw new Error(`${expected} checks should be allowed, ${allowed} were.`)
  if (counted('evalsha').calls !== all || heldUs.length !== all) {
    throw new Error(`${all} checks should make as many script calls, but made ${counted('evalsha').calls}.`)
  }
  return {
    serverUs: counted('evalsha').us / all,
    longestMs: Math.max(...heldUs) / 1000,
    pushes: counted('rpush').calls / all,
  }
}

/** Divisible by every measured limit. */
const WINDOW_MS = 100_000
const FULL = 'full'

/**
 * A client that sets the time of each script call, one step after the call before. The time is the first argument of the
 * script, where 0 means the time of the server.
 */
function withClock(client: Redis, clock: { nowUs: number; stepUs: number }): IoredisClient {
  return {
    call(command, args) {
      clock.nowUs += clock.stepUs
      const timeAt = 2 + Number(args[1])
      return client.call(command, args.with(timeAt, String(clock.nowUs)))
    },
    quit: () => client.quit(),
  }
}

/**
 * Writes a full log in the format of docs/operators/redis.md, which is faster than 100,000 checks. Each unit has its own timestamp:
 * units of one time would be a single entry at any limit. The newest is from `fullAtUs`; one unit expires per step.
 */
async function fill(client: Redis, limit: number, fullAtUs: number, stepUs: number): Promise<void> {
  // The shift and the base.
  await client.rpush(redisKey(FULL), '0', '0')
  for (let done = 0; done < limit; ) {
    const chunk: string[] = []
    for (; done < limit && chunk.length < 2000; done++) {
      chunk.push(String(fullAtUs - (limit - 1 - done) * stepUs), String(done + 1))
    }
    await client.rpush(redisKey(FULL), ...chunk)
  }
  await client.pexpire(redisKey(FULL), 2 * WINDOW_MS)
}

/** The store must read a full log whose next unit expires after one step. */
async function checkSetUp(limiter: Limiter, stepMs: number): Promise<void> {
  const { remaining, retryAfterMs, resetAfterMs } = await limiter.peek(FULL)
  if (remaining === 0 && retryAfterMs === stepMs && resetAfterMs === WINDOW_MS) return
  throw new Error(
    `Set-up: the log should be full for ${stepMs} ms, but has ${remaining} left and is full for ${retryAfterMs} ms.`,
  )
}

async function makeCopies(client: Redis, copies: number): Promise<void> {
  for (let copy = 0; copy < copies; copy++) {
    await client.copy(redisKey(FULL), redisKey(`copy-${copy}`), 'REPLACE')
  }
}

function redisKey(key: string): string {
  return `rate_limiter:log:${key}`
}
