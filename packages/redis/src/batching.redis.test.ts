import { fixedWindow } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type SlowAnswers, slowAnswers } from '../test/slow-answers.js'
import { useRedis } from '../test/use-redis.js'
import { RedisStore } from './redis-store.js'

const MAX_BATCH = 64
const LIMIT = 1000
const [policy, second, third] = [named('first'), named('second'), named('third')]

function named(name: string) {
  return fixedWindow({ limit: LIMIT, window: '366d', name })
}

const on = useRedis()
let between: SlowAnswers
let store: RedisStore
let key: string
/** What is left after each check that was made, or why it was not decided. */
let made: Promise<unknown>[]

beforeEach(async (test) => {
  between = await slowAnswers(on.server.port)
  // Longer than any answer is held.
  store = new RedisStore(between.url, { maxBatch: MAX_BATCH, connectTimeoutMs: 20_000 })
  key = test.task.id
  made = []
  // Connected, and the server has the script.
  check()
  await Promise.all(made)
  await askFromFarAway(1)
})
afterEach(async () => {
  await store.close()
  await between.stop()
})

function check(): void {
  made.push(store.check({ policy, key, cost: 1 }).then(({ remaining }) => remaining, messageOf))
}

/** In this turn of the event loop, and not together with the one before. */
function checkByItself(): void {
  setImmediate(check)
}

/** Three limits. */
function take(): void {
  const requests = [policy, second, third].map((one) => ({ policy: one, key, cost: 1 }))
  made.push(store.take(requests).then(({ decisions }) => decisions[0]?.remaining, messageOf))
}

function messageOf(error: Error): string {
  return error.message
}

/** So often this makes so many calls, and no more in the while after. */
async function expectCalls(count: number, calls: number, ask = check): Promise<void> {
  const before = between.calls()
  for (let i = 0; i < count; i++) ask()
  await until(`${calls} calls`, async () => between.calls() - before >= calls)
  await pause(25)
  expect(between.calls() - before).toBe(calls)
}

/** So many checks in one call, whose answer has taken its time and is here now. */
async function askFromFarAway(checks: number): Promise<void> {
  between.hold()
  await expectCalls(checks, 1)
  between.release()
  await Promise.all(made)
}

/** Each with one check in it, and neither answered. */
async function twoOnTheirWay(): Promise<void> {
  between.hold()
  await expectCalls(1, 1)
  await expectCalls(1, 1)
}

/** All that were made are answered, in order: each sees the ones before it. */
async function expectAll(): Promise<void> {
  between.release()
  expect(await Promise.all(made)).toStrictEqual(made.map((_, i) => LIMIT - 1 - i))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

it('what is made in one turn travels in as few calls as it fits in', async () => {
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH, 1)
  await expectCalls(2 * MAX_BATCH + 1, 3)
  await expectAll()
})

it('of what is made in one turn, but each by itself, the first does not wait for the others', async () => {
  between.hold()
  await expectCalls(5, 2, checkByItself)
  await expectAll()
})

it('just after an answer to several checks, the next call has all that are made in its turn', async () => {
  await askFromFarAway(2)
  between.hold()
  await expectCalls(5, 1, checkByItself)
  await expectAll()
})

it('a while after an answer to several checks, the first no longer waits for the others', async () => {
  await askFromFarAway(2)
  await pause(50)
  between.hold()
  await expectCalls(5, 2, checkByItself)
  await expectAll()
})

it('what waits for the end of its turn is sent, however long that turn takes', async () => {
  const WAIT_MS = 50
  store.expectDeadline(WAIT_MS)
  await askFromFarAway(2)
  for (let i = 0; i < 5; i++) check()
  // Beyond the microtasks, but within the turn.
  await Promise.resolve()
  const end = performance.now() + 2 * WAIT_MS
  while (performance.now() < end);
  await expectAll()
})

it('where answers are here soon, checks gather while one call is on its way', async () => {
  await until('an answer within a millisecond', async () => {
    const sent = performance.now()
    check()
    await made.at(-1)
    return performance.now() - sent < 1
  })
  between.hold()
  await expectCalls(1, 1)
  await expectCalls(MAX_BATCH - 1, 0)
  await expectCalls(1, 1)
  await expectAll()
})

it('with two calls on their way checks gather until they fill one, and with four nothing more is sent', async () => {
  await twoOnTheirWay()
  await expectCalls(MAX_BATCH - 1, 0)
  await expectCalls(1, 1)
  // What is left over does not fill one.
  await expectCalls(MAX_BATCH + 1, 1)
  await expectCalls(3 * MAX_BATCH, 0)
  await expectAll()
})

it('of the calls that find the script lost one brings it, and the others ask again', async () => {
  const brought = async () =>
    Number(/cmdstat_eval:calls=(\d+)/.exec(await on.redis.info('commandstats'))?.[1] ?? 0)
  const before = await brought()
  await on.redis.script('FLUSH')
  for (let i = 0; i < 4 * MAX_BATCH; i++) check()
  await expectAll()
  expect((await brought()) - before).toBe(1)
})

it('a call is full when its limits are as many, in however few takes', async () => {
  await twoOnTheirWay()
  await expectCalls(21, 0, take)
  await expectCalls(1, 1, take)
  await expectAll()
})

it('what has gathered leaves together when a call comes back', async () => {
  await twoOnTheirWay()
  await expectCalls(MAX_BATCH - 1, 0)
  const before = between.calls()
  await expectAll()
  expect(between.calls() - before).toBe(1)
})

it('of several deadlines that are told, the longest decides what has waited too long', async () => {
  store.expectDeadline(5000)
  store.expectDeadline(20)
  await twoOnTheirWay()
  check()
  await pause(100)
  await expectAll()
})

it('what has waited too long is not sent, not even to fill a call', async () => {
  const WAIT_MS = 300
  store.expectDeadline(WAIT_MS)
  await twoOnTheirWay()
  const before = between.calls()
  // Looked after when it is this one's time, and then only when it is again.
  check()
  await pause(WAIT_MS / 2)
  for (let i = 0; i < MAX_BATCH - 2; i++) check()
  await pause(WAIT_MS + 50)
  check()
  check()
  await pause(25)
  expect(between.calls() - before).toBe(0)
  between.release()
  const late = 'Redis could not answer: nothing could be sent for 300 ms.'
  expect(await Promise.all(made)).toStrictEqual([
    999,
    998,
    997,
    996,
    ...Array(MAX_BATCH - 1).fill(late),
    995,
    994,
  ])
})
