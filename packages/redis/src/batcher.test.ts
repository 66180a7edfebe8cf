import { fixedWindow } from '@tidegate/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBatcher } from './batcher.js'
import type { RedisConnection } from './connection.js'

// What needs a server is in batching.redis.test.ts: here are the moments that no server can be brought to.

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout', 'setImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const policy = fixedWindow({ limit: 10, window: '1h', name: 'hour' })

/** A batcher told of a deadline of 50 ms, on a connection that writes down the keys of every call. */
function setUp(connection: Partial<RedisConnection>) {
  const calls: string[][] = []
  const failed: string[] = []
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
  })
  batcher.expectDeadline(50)
  return {
    calls,
    failed,
    take(redisKey: string) {
      const limits = [{ policy, redisKey, cost: 1 }]
      batcher.run(
        { kind: 'take', limits },
        () => {},
        () => failed.push(redisKey),
      )
    },
  }
}

it('does not send what has waited too long along with what may wait longer', async () => {
  const { nodes, makeReady } = nodesOf()
  const { calls, failed, take } = setUp(nodes)
  take('2 before any node is there: it may wait for 1 s')
  makeReady(1)
  take('2 now that one is: it may wait for 50 ms')
  await vi.advanceTimersByTimeAsync(300)
  take('2 in time')
  makeReady(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(calls).toStrictEqual([['evalsha', '2 before any node is there: it may wait for 1 s', '2 in time']])
  expect(failed).toStrictEqual(['2 now that one is: it may wait for 50 ms'])
})

it('a script that is lacking is brought for those alone who still wait', async () => {
  const { nodes, makeReady } = nodesOf()
  const { calls, failed, take } = setUp({
    ...nodes,
    send: (_, command) => (command === 'eval' ? new Promise(() => {}) : lacking(30)),
  })
  makeReady(2)
  take('1 for 35 ms')
  await vi.advanceTimersByTimeAsync(35)
  take('1 just now')
  makeReady(1)
  await vi.advanceTimersByTimeAsync(40)
  expect(calls).toStrictEqual([
    ['evalsha', '1 for 35 ms', '1 just now'],
    ['eval', '1 just now'],
  ])
  expect(failed).toStrictEqual(['1 for 35 ms'])
})

it('who waits for another to bring the script asks again only if that was in time', async () => {
  const { calls, failed, take } = setUp({
    send: (_, command) => lacking(command === 'eval' ? 60 : 10),
  })
  take('1 brings it')
  await vi.advanceTimersByTimeAsync(1)
  take('1 waits for that')
  await vi.advanceTimersByTimeAsync(100)
  expect(calls).toStrictEqual([
    ['evalsha', '1 brings it'],
    ['evalsha', '1 waits for that'],
    ['eval', '1 brings it'],
  ])
  expect(failed).toContain('1 waits for that')
})

it.each([
  [49, ['evalsha', 'eval']],
  [50, ['evalsha']],
])('a server that says after %d ms that it lacks the script is then sent %j', async (ms, commands) => {
  const { calls, take } = setUp({ send: () => lacking(ms) })
  take('1')
  await vi.advanceTimersByTimeAsync(90)
  expect(calls.map(([command]) => command)).toStrictEqual(commands)
})

it('keys whose slot moves are asked for one by one, since no node has all of them', async () => {
  const { calls, failed, take } = setUp({
    async send(_, __, args) {
      const keys = args.slice(2, 2 + Number(args[1]))
      await new Promise((resolve) => setTimeout(resolve, 5))
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

/** A cluster of which no node can be reached until it is told so. */
function nodesOf() {
  const ready = new Set<number>()
  let tell = () => {}
  return {
    nodes: {
      isReady: (slot: number) => ready.has(slot),
      onReady(listener: () => void) {
        tell = listener
      },
    },
    makeReady(slot: number) {
      ready.add(slot)
      tell()
    },
  }
}

/** What a server says that does not have the script. */
async function lacking(afterMs: number): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  throw new Error('NOSCRIPT No matching script.')
}
