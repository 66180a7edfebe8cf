import { type Call, eventLoopTime, fixedWindow } from '@tidegate/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBatcher } from './batcher.js'
import type { RedisConnection } from './connection.js'

// Tests that need a server are in batching.redis.test.ts. These are the moments that no server can be brought to.

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout', 'setImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const policy = fixedWindow({ limit: 10, window: '1h', name: 'hour' })

/** A batcher on a connection that records the keys of every call. */
function setUp(connection: Partial<RedisConnection>) {
  const calls: string[][] = []
  const failed: string[] = []
  const errors: Error[] = []
  const batcher = createBatcher({
    connection: {
      isCluster: true,
      close: async () => {},
      ...connection,
      send(key, command, args) {
        calls.push([command, ...args.slice(2, 2 + Number(args[1]))])
        return connection.send?.(key, command, args) ?? new Promise(() => {})
      },
    },
    maxBatch: 64,
    slotOf: (key) => Number(key[0]),
    timeUs: () => 0,
    maxWaitMs: 1000,
    loop: eventLoopTime(() => performance.now()),
  })
  return {
    batcher,
    calls,
    failed,
    errors,
    take(redisKey: string, call?: Call) {
      const limits = [{ policy, redisKey, cost: 1 }]
      batcher.run(
        { kind: 'take', limits },
        call,
        () => {},
        (error) => {
          failed.push(redisKey)
          errors.push(error as Error)
        },
      )
    },
  }
}

it('an entry without a deadline waits for a connection for at most maxWaitMs and one sweep', async () => {
  const { nodes, makeReady } = nodesOf()
  const { calls, failed, take } = setUp(nodes)
  take('2 old')
  await vi.advanceTimersByTimeAsync(900)
  take('2 young')
  await vi.advanceTimersByTimeAsync(350)
  expect(failed).toStrictEqual(['2 old'])
  makeReady(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(calls).toStrictEqual([['evalsha', '2 young']])
})

it('an entry with a deadline waits for a connection until its caller stops waiting', async () => {
  const { nodes, makeReady } = nodesOf()
  const { calls, failed, take } = setUp(nodes)
  const [patient, impatient] = [{ abandoned: false }, { abandoned: false }]
  take('2 patient', patient)
  take('2 impatient', impatient)
  await vi.advanceTimersByTimeAsync(5000)
  impatient.abandoned = true
  makeReady(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(calls).toStrictEqual([['evalsha', '2 patient']])
  expect(failed).toStrictEqual(['2 impatient'])
})

it('fails at once, waiting or not, while the reason for a missing connection is known', async () => {
  let reason: string | undefined
  let lose = () => {}
  const { calls, failed, errors, take } = setUp({
    isReady: () => false,
    lostReason: () => reason,
    onLost: (listener) => {
      lose = listener
    },
  })
  take('1 before', { abandoned: false })
  await vi.advanceTimersByTimeAsync(10)
  expect(failed).toStrictEqual([])
  reason = 'connect ECONNREFUSED 127.0.0.1:6379'
  lose()
  take('1 after', { abandoned: false })
  expect(failed).toStrictEqual(['1 before', '1 after'])
  for (const error of errors) {
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      cause: 'unreachable',
      message: 'Redis is unreachable: connect ECONNREFUSED 127.0.0.1:6379.',
    })
  }
  expect(calls).toStrictEqual([])
})

it('reports how long a call has been unanswered: infinitely without a connection, 0 with an empty wire', async () => {
  const { nodes, makeReady } = nodesOf()
  const loop = eventLoopTime(() => performance.now())
  const { batcher, take } = setUp(nodes)
  expect(batcher.silentMs(1)).toBe(Number.POSITIVE_INFINITY)
  makeReady(1)
  expect(batcher.silentMs(1)).toBe(0)
  loop.tick()
  take('1 first')
  await vi.advanceTimersByTimeAsync(5)
  take('1 second, which waits for the first')
  for (let i = 0; i < 4; i++) {
    await vi.advanceTimersByTimeAsync(10)
    loop.tick()
  }
  expect(batcher.silentMs(1)).toBeCloseTo(45, 0)
  // Half a second in which the event loop was blocked counts as one tick.
  await vi.advanceTimersByTimeAsync(500)
  loop.tick()
  expect(batcher.silentMs(1)).toBeCloseTo(55, 0)
})

it('drops a connection that has left a call unanswered for maxWaitMs, once', async () => {
  const left: number[] = []
  const { take } = setUp({ leave: (slot) => left.push(slot) })
  take('7')
  await vi.advanceTimersByTimeAsync(1200)
  expect(left).toStrictEqual([])
  await vi.advanceTimersByTimeAsync(5000)
  expect(left).toStrictEqual([7])
})

it('a missing script is loaded only for callers that still wait', async () => {
  const abandoned = { abandoned: false }
  const { calls, failed, take } = setUp({
    send: (_, command) => (command === 'eval' ? new Promise(() => {}) : lacking(30)),
  })
  take('1 abandoned', abandoned)
  take('1 wanted', { abandoned: false })
  await vi.advanceTimersByTimeAsync(10)
  abandoned.abandoned = true
  await vi.advanceTimersByTimeAsync(30)
  expect(calls).toStrictEqual([
    ['evalsha', '1 abandoned', '1 wanted'],
    ['eval', '1 wanted'],
  ])
  expect(failed).toStrictEqual(['1 abandoned'])
})

it('a missing script is not loaded if every caller has stopped waiting', async () => {
  const call = { abandoned: false }
  const { calls, failed, take } = setUp({ send: () => lacking(30) })
  take('1', call)
  await vi.advanceTimersByTimeAsync(10)
  call.abandoned = true
  await vi.advanceTimersByTimeAsync(90)
  expect(calls).toStrictEqual([['evalsha', '1']])
  expect(failed).toStrictEqual(['1'])
})

it('keys of a moving slot are sent one by one, since no node has all of them', async () => {
  const { calls, failed, take } = setUp({
    async send(_, __, args) {
      const keys = args.slice(2, 2 + Number(args[1]))
      await new Promise((resolve) => setTimeout(resolve, 0.5))
      if (new Set(keys).size > 1) throw new Error('TRYAGAIN Multiple keys request during rehashing of slot')
      return [1, ...keys.flatMap(() => [1, 0, 0])]
    },
  })
  for (const key of ['1 a', '1 b']) take(key)
  await vi.advanceTimersByTimeAsync(10)
  expect(failed).toStrictEqual(['1 a', '1 b'])
  for (const key of ['1 a', '1 a', '1 b', '1 a']) take(key)
  await vi.advanceTimersByTimeAsync(30)
  expect(calls.slice(1)).toStrictEqual([
    ['evalsha', '1 a', '1 a'],
    ['evalsha', '1 b'],
    ['evalsha', '1 a'],
  ])
  await vi.advanceTimersByTimeAsync(1000)
  for (const key of ['1 a', '1 b']) take(key)
  await vi.advanceTimersByTimeAsync(10)
  expect(calls.slice(4)).toStrictEqual([['evalsha', '1 a', '1 b']])
})

/** A cluster without reachable nodes, until `makeReady`. */
function nodesOf() {
  const ready = new Set<number>()
  let notify = () => {}
  return {
    nodes: {
      isReady: (slot: number) => ready.has(slot),
      onReady(listener: () => void) {
        notify = listener
      },
    },
    makeReady(slot: number) {
      ready.add(slot)
      notify()
    },
  }
}

/** The reply of a server that does not have the script. */
async function lacking(afterMs: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  throw new Error('NOSCRIPT No matching script.')
}
