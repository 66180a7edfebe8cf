import { type Call, fixedWindow } from '@tidegate/core'
import { type RedisProxy, startRedisProxy } from '@tidegate/fixtures/redis-proxy'
import { pause, until } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useRedis } from '../../test/use-redis.js'
import { RedisStore } from '../redis-store.js'

const MAX_BATCH = 64
const LIMIT = 10_000
const [policy, second, third] = [named('first'), named('second'), named('third')]

function named(name: string) {
  return fixedWindow({ limit: LIMIT, window: '366d', name })
}

const on = useRedis()
let proxy: RedisProxy
let store: RedisStore
let key: string
/** What remains after each check, or the message of its error. */
let results: Promise<unknown>[]

beforeEach(async (test) => {
  proxy = await startRedisProxy(on.server.port)
  // Longer than any reply is held back.
  store = new RedisStore(proxy.url, { maxBatch: MAX_BATCH, connectTimeoutMs: 20_000 })
  key = test.task.id
  results = []
})
afterEach(async () => {
  await store.close()
  await proxy.stop()
})

function check(call?: Call): void {
  results.push(store.check({ policy, key, cost: 1 }, call).then(({ remaining }) => remaining, messageOf))
}

/** In this turn of the event loop, but in another callback than the check before. */
function checkInOwnCallback(): void {
  setImmediate(check)
}

/** Three limits. */
function take(): void {
  const requests = [policy, second, third].map((one) => ({ policy: one, key, cost: 1 }))
  results.push(store.take(requests).then(({ decisions }) => decisions[0]?.remaining, messageOf))
}

function messageOf(error: Error): string {
  return error.message
}

/** Calling `ask` `count` times makes exactly `calls` calls. */
async function expectCalls(count: number, calls: number, ask: () => void = check): Promise<void> {
  const before = proxy.calls()
  for (let i = 0; i < count; i++) ask()
  await until(`${calls} calls`, async () => proxy.calls() - before >= calls)
  await pause(25)
  expect(proxy.calls() - before).toBe(calls)
}

/** Connects, loads the script, and finds a round trip below a millisecond. */
async function connectNearby(): Promise<void> {
  await until('a round trip below a millisecond', async () => {
    const sentMs = performance.now()
    check()
    await results.at(-1)
    return performance.now() - sentMs < 1
  })
}

/** The first round trip takes longer than `MAX_CALLS_FOR_DISTANCE` milliseconds. */
async function connectFarAway(): Promise<void> {
  proxy.holdFromFirstCall()
  check()
  await until('a call', async () => proxy.calls() >= 1)
  await pause(50)
  proxy.release()
  await Promise.all(results)
}

/** Every check was answered, in order: each sees the ones before it. */
async function expectAllAnswered(): Promise<void> {
  proxy.release()
  expect(await Promise.all(results)).toStrictEqual(results.map((_, i) => LIMIT - 1 - i))
}

describe('to a server nearby', () => {
  beforeEach(connectNearby)

  it('checks made together are sent in as few calls as possible', async () => {
    await expectCalls(1, 1)
    await expectCalls(MAX_BATCH, 1)
    await expectCalls(2 * MAX_BATCH + 1, 3)
    await expectAllAnswered()
  })

  it('right after a batch, a call waits for all checks of its turn of the event loop', async () => {
    check()
    check()
    await Promise.all(results)
    proxy.hold()
    await expectCalls(5, 1, checkInOwnCallback)
    await expectAllAnswered()
  })

  it('a check is sent at the end of its turn, however long the turn takes', async () => {
    check()
    check()
    await Promise.all(results)
    for (let i = 0; i < 5; i++) check()
    await Promise.resolve()
    const end = performance.now() + 100
    while (performance.now() < end);
    await expectAllAnswered()
  })

  it('checks gather while one call is on the wire, until they fill a call', async () => {
    proxy.hold()
    await expectCalls(1, 1)
    await expectCalls(MAX_BATCH - 1, 0)
    await expectCalls(1, 1)
    await expectAllAnswered()
  })

  it('at most four full calls are on the wire, so that a flood waits here and not in Redis', async () => {
    proxy.hold()
    await expectCalls(10 * MAX_BATCH, 4)
    await expectAllAnswered()
  })

  it('a call is full by its number of limits, not of takes', async () => {
    proxy.hold()
    await expectCalls(1, 1)
    await expectCalls(21, 0, take)
    await expectCalls(1, 1, take)
    await expectAllAnswered()
  })

  it('gathered checks are sent together when a response arrives', async () => {
    proxy.hold()
    await expectCalls(1, 1)
    await expectCalls(MAX_BATCH - 1, 0)
    const before = proxy.calls()
    await expectAllAnswered()
    expect(proxy.calls() - before).toBe(1)
  })

  it('an abandoned check is never sent, not even to fill a call', async () => {
    proxy.hold()
    await expectCalls(1, 1)
    const call = { abandoned: false }
    await expectCalls(MAX_BATCH - 1, 0, () => check(call))
    call.abandoned = true
    check()
    check()
    proxy.release()
    const remaining = (await Promise.all(results)).slice(-MAX_BATCH - 2)
    const sent = remaining.filter((result) => typeof result === 'number')
    expect(sent).toStrictEqual([sent[0], sent[0]! - 1, sent[0]! - 2])
    expect(remaining).toHaveLength(MAX_BATCH + 2)
    expect(new Set(remaining.slice(1, MAX_BATCH))).toStrictEqual(new Set(['The caller has stopped waiting.']))
  })

  it('one of the calls that find the script missing loads it, and the others try again', async () => {
    const loads = async () =>
      Number(/cmdstat_eval:calls=(\d+)/.exec(await on.redis.info('commandstats'))?.[1] ?? 0)
    const before = await loads()
    await on.redis.script('FLUSH')
    for (let i = 0; i < 4 * MAX_BATCH; i++) check()
    await expectAllAnswered()
    expect((await loads()) - before).toBe(1)
  })
})

describe('to a server far away', () => {
  beforeEach(connectFarAway)

  it('checks are sent immediately, up to a bound on calls', async () => {
    proxy.hold()
    for (let i = 0; i < 33; i++) await expectCalls(1, 1)
    await expectCalls(MAX_BATCH - 1, 0)
    await expectCalls(1, 1)
    await expectAllAnswered()
  })
})
