import { type Decision, fixedWindow } from '@tidegate/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../test/redis-server.js'
import { type SlowAnswers, slowAnswers } from '../test/slow-answers.js'
import { useRedis } from '../test/use-redis.js'
import { RedisStore } from './redis-store.js'

const MAX_BATCH = 8
const LIMIT = 1000

const on = useRedis()
let between: SlowAnswers
let store: RedisStore
let key: string
let made: Promise<Decision>[]
const policy = fixedWindow({ limit: LIMIT, window: '366d' })

beforeEach(async (test) => {
  between = await slowAnswers(on.server.port)
  // Longer than any answer is held.
  store = new RedisStore(between.url, { maxBatch: MAX_BATCH, connectTimeoutMs: 20_000 })
  key = test.task.id
  made = []
  // Connected, and the server has the script.
  await check()
})
afterEach(async () => {
  await store.close()
  await between.stop()
})

function check(): Promise<Decision> {
  const decision = store.check({ policy, key, cost: 1 })
  made.push(decision)
  return decision
}

/** So many checks make so many calls, and no more in the while after. */
async function expectCalls(count: number, calls: number): Promise<void> {
  const before = between.calls()
  for (let i = 0; i < count; i++) void check()
  await until(`${calls} calls`, async () => between.calls() - before >= calls)
  await new Promise((resolve) => setTimeout(resolve, 25))
  expect(between.calls() - before).toBe(calls)
}

/** All that were made are answered, in order: each sees the ones before it. */
async function expectAll(): Promise<void> {
  between.release()
  const remaining = (await Promise.all(made)).map((decision) => decision.remaining)
  expect(remaining).toStrictEqual(made.map((_, i) => LIMIT - 1 - i))
}

it('what is made in one turn travels in as few calls as it fits in', async () => {
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH, 1)
  await expectCalls(2 * MAX_BATCH + 1, 3)
  await expectAll()
})

it('with two calls on their way checks gather until they fill one, and with four nothing more is sent', async () => {
  between.hold()
  await expectCalls(1, 1)
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH - 1, 0)
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH, 1)
  await expectCalls(3 * MAX_BATCH, 0)
  await expectAll()
})

it('what has gathered leaves together when a call comes back', async () => {
  between.hold()
  await expectCalls(1, 1)
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH - 1, 0)
  const before = between.calls()
  between.release()
  await until('what has gathered to be sent', async () => between.calls() > before)
  await expectAll()
  expect(between.calls() - before).toBe(1)
})
