import { createLimiter, type Limiter, slidingWindowLog } from '@tidegate/core'
import { type IoredisClient, RedisStore } from '@tidegate/redis'
import type { Redis } from 'ioredis'
import type { Figures } from './figures.js'
import { connectToServer } from './redis-connect.js'
import type { LogOfOneKey } from './redis-scenarios.js'
import { countCommands, timeScripts } from './redis-stats.js'

/** What a check of a full log costs the server, by its own measure: on average, and at the longest. */
export async function measureLog(url: string, log: LogOfOneKey): Promise<Figures> {
  const { limit, cost, leaving, checks, copies } = log
  const client = await connectToServer(url)
  const stepUs = (WINDOW_MS / limit) * 1000
  const fullAtUs = Date.now() * 1000
  const clock = { nowUs: fullAtUs, stepUs: 0 }
  const store = new RedisStore(withClock(client, clock), {
    maxBatch: 1,
    rememberRefusalsMs: 0,
  })
  const policy = slidingWindowLog({ limit, window: WINDOW_MS, name: 'log' })
  const limiter = createLimiter({ policy, store, failure: false })
  await fill(client, limit, fullAtUs, stepUs)
  await checkSetUp(limiter, stepUs / 1000)

  clock.stepUs = leaving * stepUs
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
  const expected = leaving === 0 ? 0 : 2 * all
  if (allowed !== expected) throw new Error(`${expected} checks should be allowed, ${allowed} were.`)
  if (counted('evalsha').calls !== all || heldUs.length !== all) {
    throw new Error(`${all} checks should be as many script calls, they were ${counted('evalsha').calls}.`)
  }
  return {
    serverUs: counted('evalsha').us / all,
    longestMs: Math.max(...heldUs) / 1000,
    pushes: counted('rpush').calls / all,
  }
}

/** Divided by any limit that is measured, whole milliseconds. */
const WINDOW_MS = 100_000
const FULL = 'full'

/**
 * Redis as the store sees it, except that the time is ours, and each call is a step later than the one
 * before. The script takes it as its first argument, where 0 means the server's own.
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
 * A full log, as docs/redis.md says that it is written: had it come by checks, the set-up would take longer than
 * what is measured. As many moments as units: were they of one moment, the log would be one run, whatever its
 * limit. The newest is of `fullAtUs`, and one leaves with every step from there.
 */
async function fill(client: Redis, limit: number, fullAtUs: number, stepUs: number): Promise<void> {
  await client.rpush(redisKey(FULL), '0')
  for (let done = 0; done < limit; ) {
    const chunk: string[] = []
    for (; done < limit && chunk.length < 2000; done++) {
      chunk.push(String(fullAtUs - (limit - 1 - done) * stepUs), String(done + 1))
    }
    await client.rpush(redisKey(FULL), ...chunk)
  }
  await client.pexpire(redisKey(FULL), 2 * WINDOW_MS)
}

/** The store must see a full log in it, of which the next unit leaves after one step. */
async function checkSetUp(limiter: Limiter, stepMs: number): Promise<void> {
  const { remaining, retryAfterMs, resetAfterMs } = await limiter.peek(FULL)
  if (remaining === 0 && retryAfterMs === stepMs && resetAfterMs === WINDOW_MS) return
  throw new Error(
    `Set-up: the log should be full for ${stepMs} ms, it has ${remaining} for ${retryAfterMs} ms.`,
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
