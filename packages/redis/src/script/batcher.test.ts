import { type Call, eventLoopTime, fixedWindow } from '@tidegate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RedisConnection } from '../connection/adapters.js'
import { createBatcher } from './batcher.js'
import { NOT_ON_ONE_NODE } from './call-errors.js'

// Tests that need a server are in batching.redis.test.ts. These situations cannot be produced with a real server.

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
  // As ioredis writes it, with a period.
  reason = 'Connection is closed.'
  take('1 after', { abandoned: false })
  expect(failed).toStrictEqual(['1 before', '1 after'])
  expect(errors).toMatchObject(
    ['connect ECONNREFUSED 127.0.0.1:6379', 'Connection is closed'].map((text) => ({
      code: 'STORE_FAILED',
      cause: 'unreachable',
      message: `Redis is unreachable: ${text}.`,
    })),
  )
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

describe('an entry with calendar windows that are not those of the server', () => {
  const daily = fixedWindow({ limit: 10, window: 'day', name: 'daily' })
  const DAY_US = 86_400_000_000
  const SERVER_US = Date.parse('2031-06-15T12:00:00Z') * 1000

  /** A server that answers each call with the next of these numbers, and the windows that it was sent. */
  async function windowsSent(...numbers: number[]) {
    const windows: number[][] = []
    const replies = numbers.map((number) => [SERVER_US, number, 0, 0])
    const { batcher } = setUp({
      send: async (_key, _command, args) => {
        windows.push(args.at(-2)!.split(' ').slice(3).map(Number))
        return replies.shift()
      },
    })
    const entry = { kind: 'take' as const, limits: [{ policy: daily, redisKey: '1', cost: 1 }] }
    const answer = new Promise<unknown>((resolve, reject) => batcher.run(entry, undefined, resolve, reject))
    return { windows, answer }
  }

  it('is sent again with windows around the time of the server', async () => {
    const { windows, answer } = await windowsSent(-2, 1 + 8 * 9)
    expect(await answer).toMatchObject({ decisions: [{ allowed: true, remaining: 9 }] })
    const today = Math.floor(SERVER_US / DAY_US) * DAY_US
    expect(windows[1]).toStrictEqual([-1, 0, 1, 2, 3].map((days) => today + days * DAY_US))
    expect(windows).toHaveLength(2)
  })

  it('fails if it is stale a second time', async () => {
    const { windows, answer } = await windowsSent(-2, -2)
    await expect(answer).rejects.toMatchObject({ code: 'STORE_FAILED', message: /clock moved/ })
    expect(windows).toHaveLength(2)
  })
})

it('drops a connection that has left a call unanswered for maxWaitMs, once', async () => {
  const left: unknown[] = []
  const { take } = setUp({ nodeOf: (slot) => `node of ${slot}`, leave: (node) => left.push(node) })
  take('7')
  await vi.advanceTimersByTimeAsync(1200)
  expect(left).toStrictEqual([])
  await vi.advanceTimersByTimeAsync(5000)
  expect(left).toStrictEqual(['node of 7'])
})

it('loads a missing script only if callers are still waiting', async () => {
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
  for (const key of ['1 a', '1 a', '1 b', '1 a']) take(key)
  await vi.advanceTimersByTimeAsync(30)
  expect(calls).toStrictEqual([
    ['evalsha', '1 a', '1 b'],
    // Sent again, because they were not executed.
    ['evalsha', '1 a'],
    ['evalsha', '1 b'],
    ['evalsha', '1 a', '1 a'],
    ['evalsha', '1 b'],
    ['evalsha', '1 a'],
  ])
  await vi.advanceTimersByTimeAsync(1000)
  for (const key of ['1 a', '1 b']) take(key)
  await vi.advanceTimersByTimeAsync(10)
  expect(calls[6]).toStrictEqual(['evalsha', '1 a', '1 b'])
  expect(failed).toStrictEqual([])
})

describe('a cluster whose nodes are known', () => {
  const NON_LOCAL = 'ERR Script attempted to access a non local key in a cluster node script: 1'

  /**
   * A cluster in which node A has the slots 1 and 2, and node B has slot 3, until `nodes` says otherwise. A reply is the
   * message of each entry's failure, undefined for an allowed check; or an error of the whole call.
   */
  function clusterOf(reply: (node: string, keys: string[]) => (string | undefined)[] | Error) {
    const nodes = new Map([
      [1, 'A'],
      [2, 'A'],
      [3, 'B'],
    ])
    const known = new Set(['A', 'B'])
    const calls: string[][] = []
    const results: unknown[] = []
    let notify = () => {}
    let passes: (node: string) => boolean | Promise<never> = () => true

    async function answer(node: string, keys: string[]) {
      calls.push([node, ...keys])
      const isTest = keys.every((key) => key.includes('test'))
      if (isTest) await passes(node)
      const replies = !isTest ? reply(node, keys) : keys.map(() => (passes(node) ? undefined : NON_LOCAL))
      if (replies instanceof Error) throw replies
      const numbers = replies.flatMap((failure) => (failure === undefined ? [1, 0, 0] : [-1, 0, 0]))
      return [1, ...numbers, ...replies.filter((failure) => failure !== undefined)]
    }

    const batcher = createBatcher({
      connection: {
        isCluster: true,
        close: async () => {},
        nodeOf: (slot) => nodes.get(slot),
        onReady: (listener) => {
          notify = listener
        },
        send: (key, _, args) => answer(`slot ${key[0]}`, args.slice(2, 2 + Number(args[1]))),
        sendTo: (node, _, args) =>
          known.has(node) ? answer(node, args.slice(-1 - Number(args.at(-1)), -1)) : undefined,
      },
      maxBatch: 64,
      slotOf: (key) => Number(key[0]),
      timeUs: () => 0,
      maxWaitMs: 1000,
      loop: eventLoopTime(() => performance.now()),
      testOf: (node) => [
        { kind: 'take', limits: [{ policy, redisKey: `1 test of ${node}`, cost: 1 }] },
        { kind: 'take', limits: [{ policy, redisKey: `2 test of ${node}`, cost: 1 }] },
      ],
    })
    return {
      nodes,
      known,
      calls,
      results,
      notify: () => notify(),
      let: (rule: typeof passes) => {
        passes = rule
      },
      /** One take of these keys. */
      take(...redisKeys: string[]) {
        const limits = redisKeys.map((redisKey) => ({ policy, redisKey, cost: 1 }))
        batcher.run(
          { kind: 'take', limits },
          undefined,
          () => results.push('decided'),
          (error) => results.push(error),
        )
        return vi.advanceTimersByTimeAsync(1)
      },
    }
  }

  const TEST_OF_A = ['A', '1 test of A', '2 test of A']
  const allowed = (_: string, keys: string[]) => keys.map(() => undefined)

  it('decides the slots of a node in one call, once the node has passed a test', async () => {
    const { calls, results, take } = clusterOf(allowed)
    void take('1 a')
    void take('2 b')
    await take('3 c')
    await take('1 a', '2 b')
    expect(calls).toStrictEqual([
      TEST_OF_A,
      ['B', '1 test of B', '2 test of B'],
      ['A', '1 a', '2 b'],
      ['B', '3 c'],
      ['A', '1 a', '2 b'],
    ])
    expect(results).toStrictEqual(['decided', 'decided', 'decided', 'decided'])
  })

  it('uses a call for each slot of a node that fails the test, and tests it again after 5 s', async () => {
    const cluster = clusterOf(allowed)
    cluster.let(() => false)
    void cluster.take('1 a')
    await cluster.take('2 b')
    await cluster.take('1 a')
    expect(cluster.calls).toStrictEqual([TEST_OF_A, ['slot 1', '1 a'], ['slot 2', '2 b'], ['slot 1', '1 a']])
    await cluster.take('1 a', '2 b')
    expect(cluster.results.pop()).toBe(NOT_ON_ONE_NODE)
    cluster.let(() => true)
    await vi.advanceTimersByTimeAsync(5000)
    await cluster.take('1 a', '2 b')
    expect(cluster.calls.slice(4)).toStrictEqual([TEST_OF_A, ['A', '1 a', '2 b']])
    expect(cluster.results).toStrictEqual(['decided', 'decided', 'decided', 'decided'])
  })

  it('sends an entry that a node did not execute once more, in the call of its slot, and the next ones there', async () => {
    const { calls, results, take } = clusterOf((node, keys) =>
      keys.map((key) => (node === 'A' && key.startsWith('2') ? NON_LOCAL : undefined)),
    )
    void take('1 a')
    await take('2 b')
    await take('2 c')
    expect(calls.slice(1)).toStrictEqual([
      ['A', '1 a', '2 b'],
      ['slot 2', '2 b'],
      ['slot 2', '2 c'],
    ])
    expect(results).toStrictEqual(['decided', 'decided', 'decided'])
    await take('1 a', '2 b')
    expect(results.pop()).toBe(NOT_ON_ONE_NODE)
    await vi.advanceTimersByTimeAsync(1000)
    await take('2 b')
    expect(calls.slice(4)).toStrictEqual([
      ['A', '2 b'],
      ['slot 2', '2 b'],
    ])
  })

  it('does not send an entry a third time', async () => {
    const { calls, results, take } = clusterOf((_, keys) => keys.map(() => NON_LOCAL))
    await take('1 a')
    await vi.advanceTimersByTimeAsync(100)
    expect(calls).toStrictEqual([TEST_OF_A, ['A', '1 a'], ['slot 1', '1 a']])
    expect(results).toMatchObject([{ code: 'STORE_FAILED' }])
  })

  it('does not send an entry again that may have been executed', async () => {
    const { calls, results, take } = clusterOf(() => new Error('Connection is closed.'))
    await take('1 a')
    await vi.advanceTimersByTimeAsync(100)
    expect(calls).toStrictEqual([TEST_OF_A, ['A', '1 a']])
    expect(results).toMatchObject([{ code: 'STORE_FAILED' }])
  })

  it('sends entries to the current node of their slot, and slot by slot if a node is gone', async () => {
    const cluster = clusterOf(allowed)
    await cluster.take('3 c')
    cluster.let(() => new Promise(() => {}))
    await cluster.take('1 a')
    // The test of A is not answered. Then B takes over.
    cluster.nodes.set(1, 'B')
    cluster.notify()
    await vi.advanceTimersByTimeAsync(1)
    expect(cluster.calls.slice(1)).toStrictEqual([['B', '3 c'], TEST_OF_A, ['B', '1 a']])
    cluster.known.delete('B')
    await cluster.take('3 c')
    expect(cluster.calls.slice(4)).toStrictEqual([['slot 3', '3 c']])
    expect(cluster.results).toStrictEqual(['decided', 'decided', 'decided'])
  })
})

/** A cluster without reachable nodes, until `makeReady`. */
function nodesOf() {
  const ready = new Set<number>()
  let notify = () => {}
  return {
    nodes: {
      nodeOf: String,
      isReady: (node?: string) => ready.has(Number(node)),
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
