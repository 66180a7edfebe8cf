import { describe, expect, it, vi } from 'vitest'
import { ManualTimers, settle } from '../../test/manual-timers.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import {
  fixedWindow,
  leakyBucket,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import { randomFrom } from '../testing/random.js'
import type { AbortSignalLike } from './on-abort.js'
import { paceOf } from './pace.js'
import { createWaitQueue } from './wait-queue.js'

const ONE_PER_SECOND = tokenBucket({ capacity: 10, refillRate: 1 })

/** A queue on a memory store, whose clock is that of the timers. */
function queueOf(policy: RatePolicy, { maxWaiting = 100_000, isRemote = false, pace = paceOf(policy) } = {}) {
  const timers = new ManualTimers()
  const store = new MemoryStore({ clock: { nowUs: () => Math.round(timers.now() * 1000) } })
  const checked: number[] = []
  const refunded: number[] = []
  let answer = (decision: Decision): Decision | Promise<Decision> => decision
  const queue = createWaitQueue({
    name: policy.name,
    pace,
    maxWaiting,
    timers,
    check(key, cost) {
      checked.push(cost)
      const decision = store.check({ policy, key, cost })
      return isRemote
        ? new Promise((resolve) => timers.after(1, () => resolve(answer(decision))))
        : answer(decision)
    },
    refund(key, { timeMs, cost }) {
      refunded.push(cost)
      return store.refund({ policy, key, timeMs, cost })
    },
  })
  /** Each settled call as 'name' or 'name CODE', with the time. */
  const log: string[] = []
  function wait(
    name: string,
    cost = 1,
    { timeoutMs = 30_000, signal = undefined as AbortSignalLike | undefined, key = 'key' } = {},
  ) {
    return queue.wait(key, cost, timeoutMs, signal).then(
      (decision) => {
        log.push(`${timers.now()} ${name}`)
        return decision
      },
      (error) => {
        log.push(`${timers.now()} ${name} ${error.code}`)
        return error
      },
    )
  }
  return {
    timers,
    store,
    checked,
    refunded,
    wait,
    log,
    take: (cost: number, key = 'key') => store.check({ policy, key, cost }),
    peek: (key = 'key') => store.peek({ policy, key, cost: 1 }),
    answerWith: (change: typeof answer) => {
      answer = change
    },
  }
}

describe('a call that waits', () => {
  it('resolves immediately with the decision if the units are available, without a timer', async () => {
    const { wait, log, timers, peek } = queueOf(ONE_PER_SECOND)
    expect(await wait('a', 4)).toStrictEqual({
      allowed: true,
      limit: 10,
      cost: 4,
      remaining: 6,
      retryAfterMs: 0,
      resetAfterMs: 4000,
      delayMs: 0,
      timeMs: 0,
      policy: ONE_PER_SECOND.name,
    })
    expect(log).toStrictEqual(['0 a'])
    expect(peek().remaining).toBe(6)
    expect(timers.created).toBe(0)
  })

  it('resolves when the units are available, and is not checked earlier', async () => {
    const { wait, log, take, timers, checked } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('a', 3)
    await timers.pass(2999)
    expect(log).toStrictEqual([])
    await timers.pass(1)
    expect(log).toStrictEqual(['3000 a'])
    expect(checked).toStrictEqual([3, 3])
    expect(timers.pending).toBe(0)
  })

  it.each([
    ['token bucket', tokenBucket({ capacity: 2, refillRate: 1 }), [0, 0, 1000, 2000, 3000, 4000]],
    ['fixed window', fixedWindow({ limit: 2, window: '3s' }), [0, 0, 3000, 3000, 6000, 6000]],
    ['sliding window log', slidingWindowLog({ limit: 2, window: '3s' }), [0, 0, 3000, 3000, 6000, 6000]],
    [
      'sliding window counter',
      slidingWindowCounter({ limit: 2, window: '3s' }),
      [0, 0, 3001, 4501, 6001, 7501],
    ],
    ['leaky bucket', leakyBucket({ capacity: 2, leakRate: 1 }), [0, 1000, 2000, 3000, 4000, 5000]],
  ])('%s: six calls', async (_, policy, times) => {
    const { wait, log, timers } = queueOf(policy)
    for (const name of 'abcdef') wait(name)
    await timers.pass(30_000)
    expect(log.map((line) => Number(line.split(' ')[0]))).toStrictEqual(times)
    expect(log.map((line) => line.split(' ')[1]).join('')).toBe('abcdef')
  })

  it('is served in order of arrival, for any cost', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('one')
    wait('five', 5)
    for (let second = 1; second <= 9; second++) {
      wait(`small-${second}`)
      await timers.pass(1000)
    }
    expect(log).toStrictEqual(['1000 one', '6000 five', '7000 small-1', '8000 small-2', '9000 small-3'])
  })

  it('does not wait for the calls of another key', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('slow', 9)
    wait('other', 9, { key: 'other' })
    await timers.pass(0)
    expect(log).toStrictEqual(['0 other'])
  })

  it('is checked again if other requests took the units in the meantime', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('a', 2)
    await timers.pass(1500)
    take(1)
    await timers.pass(1500)
    expect(log).toStrictEqual(['3000 a'])
  })
})

describe('on a remote store', () => {
  it('only the first in line is checked', async () => {
    const { wait, log, take, timers, checked } = queueOf(ONE_PER_SECOND, { isRemote: true })
    take(10)
    for (let i = 1; i <= 20; i++) wait(`${i}`, 1)
    await timers.pass(999)
    expect(checked).toHaveLength(1)
    await timers.pass(2100)
    expect(log.length).toBe(3)
    expect(checked).toHaveLength(7)
  })

  it('calls that arrive together are checked one after the other', async () => {
    const { wait, log, timers } = queueOf(ONE_PER_SECOND, { isRemote: true })
    for (const name of 'abc') wait(name)
    await timers.pass(10)
    expect(log).toStrictEqual(['1 a', '2 b', '3 c'])
  })

  it('uses a response that is in flight at the timeout', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND, { isRemote: true })
    take(10)
    wait('a', 1, { timeoutMs: 1001 })
    wait('now', 1, { timeoutMs: 0, key: 'other' })
    await timers.pass(5000)
    expect(log).toStrictEqual(['1 now', '1002 a'])
  })

  it('rejects with the error of the store, and continues with the next call', async () => {
    const { wait, log, timers, answerWith } = queueOf(ONE_PER_SECOND, { isRemote: true })
    answerWith(() => Promise.reject(Object.assign(new Error('gone'), { code: 'STORE_FAILED' })))
    wait('a')
    wait('b')
    await timers.pass(1)
    answerWith((decision) => decision)
    await timers.pass(10)
    expect(log).toStrictEqual(['1 a STORE_FAILED', '2 b'])
  })
})

describe('a timeout', () => {
  it('is the longest wait', async () => {
    const { wait, log, take, timers, peek } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('first', 3, { timeoutMs: 3000 })
    await timers.pass(1)
    // Others take every unit that comes.
    for (let second = 1; second <= 5; second++) {
      await timers.pass(999)
      while (peek().allowed) take(1)
    }
    expect(log).toStrictEqual(['3000 first WAIT_TIMEOUT'])
    expect(timers.pending).toBe(0)
  })

  it('rejects at once if the wait is known to be longer', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    const error = await wait('a', 4, { timeoutMs: 3999 })
    expect(log).toStrictEqual(['0 a WAIT_TIMEOUT'])
    expect(error.message).toBe(
      `"${ONE_PER_SECOND.name}" can allow this call in 4000 ms at the earliest, which is after its timeoutMs of 3999. Set a longer timeoutMs, or try again later.`,
    )
    expect(timers.pending).toBe(0)
  })

  it('includes the calls ahead in the expected wait', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    wait('four', 4)
    await timers.pass(500)
    wait('late', 2, { timeoutMs: 5499 })
    wait('just', 2, { timeoutMs: 5500 })
    await settle()
    expect(log).toStrictEqual(['500 late WAIT_TIMEOUT'])
    await timers.pass(10_000)
    expect(log).toStrictEqual(['500 late WAIT_TIMEOUT', '4000 four', '6000 just'])
  })

  it('includes the calls ahead also for calls made before the first response', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND, { isRemote: true })
    take(10)
    for (const [name, timeoutMs] of [
      ['a', 9000],
      ['b', 1500],
      ['c', 2500],
      ['d', 2500],
    ] as const) {
      wait(name, 1, { timeoutMs })
    }
    await timers.pass(1)
    expect(log).toStrictEqual(['1 b WAIT_TIMEOUT', '1 d WAIT_TIMEOUT'])
    await timers.pass(9000)
    expect(log.slice(2).map((line) => line.split(' ')[1])).toStrictEqual(['a', 'c'])
  })

  it.each([
    ['token bucket', ONE_PER_SECOND, 11_000],
    ['fixed window', fixedWindow({ limit: 10, window: '10s' }), 20_000],
    ['sliding window log', slidingWindowLog({ limit: 10, window: '10s' }), 20_000],
    ['leaky bucket', leakyBucket({ capacity: 10, leakRate: 1 }), 20_000],
  ])('%s: computes the wait of the eleventh call', async (_, policy, waitMs) => {
    const { wait, log, take, timers } = queueOf(policy)
    take(10)
    wait('first')
    await settle()
    for (let i = 0; i < 9; i++) wait('filler')
    wait('short', 1, { timeoutMs: waitMs - 1 })
    wait('long', 1, { timeoutMs: waitMs })
    await settle()
    expect(log).toStrictEqual(['0 short WAIT_TIMEOUT'])
    await timers.pass(waitMs)
    expect(log.at(-1)).toBe(`${waitMs} long`)
  })

  it('a small cost is served earlier once the large cost before it has timed out', async () => {
    const { wait, log, take, timers, checked } = queueOf(ONE_PER_SECOND)
    take(10)
    await timers.pass(1000)
    wait('large', 9, { timeoutMs: 60_000, signal: AbortSignal.abort() })
    const controller = new AbortController()
    wait('nine', 9, { signal: controller.signal })
    wait('one', 1)
    await settle()
    expect(checked).toStrictEqual([9])
    controller.abort()
    await settle()
    expect(log).toStrictEqual(['1000 large WAIT_ABORTED', '1000 nine WAIT_ABORTED', '1000 one'])
  })

  it('of 0 takes the units immediately or rejects', async () => {
    const { wait, log, take } = queueOf(ONE_PER_SECOND)
    take(9)
    await wait('a', 1, { timeoutMs: 0 })
    await wait('b', 1, { timeoutMs: 0 })
    expect(log).toStrictEqual(['0 a', '0 b WAIT_TIMEOUT'])
  })
})

describe('an abort', () => {
  it('before the call rejects at once, checks nothing, and has the reason as its cause', async () => {
    const { wait, checked } = queueOf(ONE_PER_SECOND)
    const reason = new Error('shutting down')
    const error = await wait('a', 1, { signal: AbortSignal.abort(reason) })
    expect(error).toMatchObject({ code: 'WAIT_ABORTED', cause: reason })
    expect(checked).toStrictEqual([])
  })

  it('while waiting takes the call out of its line', async () => {
    const { wait, log, take, timers, peek } = queueOf(ONE_PER_SECOND)
    take(10)
    const controller = new AbortController()
    wait('a', 1)
    wait('b', 1, { signal: controller.signal })
    wait('c', 1)
    await timers.pass(500)
    controller.abort()
    await timers.pass(1500)
    expect(log).toStrictEqual(['500 b WAIT_ABORTED', '1000 a', '2000 c'])
    expect(peek().remaining).toBe(0)
    expect(timers.pending).toBe(0)
  })

  it('of the first does not lead to a check of the same cost', async () => {
    const { wait, take, timers, checked } = queueOf(ONE_PER_SECOND)
    take(10)
    const controller = new AbortController()
    for (let i = 0; i < 50; i++) wait('aborted', 1, { signal: controller.signal })
    wait('last', 1)
    await timers.pass(100)
    controller.abort()
    await timers.pass(100)
    expect(checked).toStrictEqual([1])
  })

  it('while the store decides gives the units back', async () => {
    const { wait, log, timers, refunded, peek } = queueOf(ONE_PER_SECOND, { isRemote: true })
    const controller = new AbortController()
    wait('a', 7, { signal: controller.signal })
    wait('b', 7)
    controller.abort()
    await settle()
    expect(log).toStrictEqual(['0 a WAIT_ABORTED'])
    await timers.pass(10)
    expect(refunded).toStrictEqual([7])
    expect(log).toStrictEqual(['0 a WAIT_ABORTED', '2 b'])
    expect(peek().remaining).toBe(3)
  })

  it('during the delay of a leaky bucket gives the units back, and the next call gets them', async () => {
    const { wait, log, timers, refunded, peek } = queueOf(leakyBucket({ capacity: 3, leakRate: 1 }))
    const controller = new AbortController()
    wait('a', 1)
    wait('b', 2, { signal: controller.signal })
    wait('c', 1)
    await timers.pass(100)
    controller.abort()
    await timers.pass(1)
    expect(refunded).toStrictEqual([2])
    expect(peek().remaining).toBe(1)
    await timers.pass(5000)
    expect(log).toStrictEqual(['0 a', '100 b WAIT_ABORTED', '1000 c'])
  })

  it('has one listener on each signal, which is removed with the last call', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND)
    take(10)
    const controller = new AbortController()
    const { signal } = controller
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    for (let i = 0; i < 5; i++) wait('a', 1, { signal })
    await timers.pass(4000)
    expect(added).toHaveBeenCalledTimes(1)
    expect(removed).not.toHaveBeenCalled()
    await timers.pass(1000)
    expect(removed.mock.calls).toStrictEqual(added.mock.calls)
    for (let i = 0; i < 3; i++) wait('b', 1, { signal })
    await timers.pass(1000)
    controller.abort()
    await settle()
    expect(log.slice(-2)).toStrictEqual(['6000 b WAIT_ABORTED', '6000 b WAIT_ABORTED'])
    expect(removed.mock.calls).toStrictEqual(added.mock.calls)
  })
})

describe('a leaky bucket', () => {
  it('a delay longer than the timeout gives the units back and rejects at once', async () => {
    const { wait, log, timers, refunded, checked, peek } = queueOf(leakyBucket({ capacity: 10, leakRate: 1 }))
    for (let i = 0; i < 5; i++) wait(`${i}`)
    await settle()
    for (const name of 'abc') wait(name, 1, { timeoutMs: 4999 })
    await settle()
    expect(log).toStrictEqual(['0 0', '0 a WAIT_TIMEOUT', '0 b WAIT_TIMEOUT', '0 c WAIT_TIMEOUT'])
    // After the first of the three, the others are not checked.
    expect(checked).toHaveLength(6)
    expect(refunded).toStrictEqual([1])
    expect(peek().remaining).toBe(5)
    await timers.pass(4000)
    expect(log.at(-1)).toBe('4000 4')
  })
})

describe('without the store', () => {
  const degraded = (mode: 'open' | 'closed', decision: Decision): Decision => ({
    ...decision,
    allowed: mode === 'open',
    retryAfterMs: mode === 'open' ? 0 : 1000,
    degraded: mode,
  })

  it('open: resolves at once', async () => {
    const { wait, log, take, answerWith } = queueOf(ONE_PER_SECOND)
    take(10)
    answerWith((decision) => degraded('open', decision))
    expect((await wait('a', 5)).degraded).toBe('open')
    expect(log).toStrictEqual(['0 a'])
  })

  it('closed: is checked again until the timeout', async () => {
    const { wait, log, timers, checked, answerWith } = queueOf(ONE_PER_SECOND)
    answerWith((decision) => degraded('closed', decision))
    wait('a', 1, { timeoutMs: 2500 })
    wait('b', 1, { timeoutMs: 500 })
    await timers.pass(2500)
    expect(log).toStrictEqual(['500 b WAIT_TIMEOUT', '2500 a WAIT_TIMEOUT'])
    expect(checked).toStrictEqual([1, 1, 1])
  })

  it('closed: resolves once the store is back', async () => {
    const { wait, log, timers, answerWith } = queueOf(ONE_PER_SECOND)
    answerWith((decision) => degraded('closed', decision))
    wait('a')
    await timers.pass(1500)
    answerWith((decision) => decision)
    await timers.pass(500)
    expect(log).toStrictEqual(['2000 a'])
  })
})

it('a denial without a wait is checked again after a millisecond, and not at once', async () => {
  const { wait, timers, checked, answerWith } = queueOf(ONE_PER_SECOND)
  answerWith((decision) => ({ ...decision, allowed: false, retryAfterMs: 0 }))
  wait('a', 1, { timeoutMs: 100 })
  await timers.pass(10)
  expect(checked).toHaveLength(11)
})

it('a block delays calls until its end, without an estimate for the time after it', async () => {
  const { wait, log, timers, answerWith } = queueOf(ONE_PER_SECOND)
  answerWith(
    (decision) => ({ ...decision, allowed: false, retryAfterMs: 5000, reason: 'blocked' }) as Decision,
  )
  for (let i = 0; i < 8; i++) wait(`${i}`, 1, { timeoutMs: 5000 })
  wait('short', 1, { timeoutMs: 4999 })
  await settle()
  expect(log).toStrictEqual(['0 short WAIT_TIMEOUT'])
  answerWith((decision) => decision)
  await timers.pass(5000)
  expect(log.slice(1).map((line) => line.split(' ')[1])).toStrictEqual([...'01234567'])
})

describe('many calls', () => {
  it('10,000 calls for 100 keys wait on one timer', async () => {
    const { wait, log, take, timers } = queueOf(tokenBucket({ capacity: 10, refillRate: 1000 }))
    for (let key = 0; key < 100; key++) take(10, `${key}`)
    for (let i = 0; i < 10_000; i++) wait('x', 1, { key: `${i % 100}` })
    await settle()
    expect(timers.pending).toBe(1)
    expect(timers.created).toBeLessThanOrEqual(2)
    await timers.pass(50)
    expect(timers.pending).toBe(1)
    await timers.pass(60)
    expect(log).toHaveLength(10_000)
    expect(log.every((line) => line.endsWith(' x'))).toBe(true)
    expect(timers.pending).toBe(0)
  })

  it('above maxWaiting are rejected until others have ended', async () => {
    const { wait, log, take, timers } = queueOf(ONE_PER_SECOND, { maxWaiting: 3 })
    take(10)
    for (const name of 'abcd') wait(name)
    await timers.pass(1000)
    wait('e')
    await timers.pass(4000)
    expect(log).toStrictEqual(['0 d WAIT_QUEUE_FULL', '1000 a', '2000 b', '3000 c', '4000 e'])
  })

  it('of different costs and timeouts are served in order, in time or not at all', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = randomFrom(seed)
      const policy = POLICIES[seed % POLICIES.length]!
      const { wait, log, timers, store } = queueOf(policy, { isRemote: random.between(0, 1) === 0 })
      const deadlines: number[] = []
      for (let i = 0; i < 60; i++) {
        const timeoutMs = random.between(0, 12_000)
        deadlines.push(timers.now() + timeoutMs)
        const controller = new AbortController()
        wait(`${i}`, random.between(1, 10), { timeoutMs, signal: controller.signal })
        await timers.pass(random.between(0, 800))
        if (random.between(1, 10) === 1) controller.abort()
        if (random.between(1, 10) === 1) store.reset({ policy, key: 'key' })
      }
      await timers.pass(20_000)
      expect(log).toHaveLength(deadlines.length)
      const served = servedIn(log)
      expect(served.length).toBeGreaterThan(3)
      // A reset shortens the delays of a leaky bucket: a later call may leave first.
      if (policy.algorithm !== 'leaky-bucket') expect(served).toStrictEqual(served.toSorted((a, b) => a - b))
      for (const line of log) {
        const [time, i, code] = line.split(' ')
        if (code === undefined) expect(Number(time)).toBeLessThanOrEqual(deadlines[Number(i)]! + 1)
      }
      expect(timers.pending).toBe(0)
    }
  })

  it('are rejected immediately only if they cannot be in time', async () => {
    const unpaced = { weigh: () => 0, leastMs: () => 0 }
    let rejectedEarlier = 0
    for (let seed = 1; seed <= 40; seed++) {
      const policy = POLICIES[seed % POLICIES.length]!
      const logs: string[][] = []
      for (const pace of [paceOf(policy), unpaced]) {
        const random = randomFrom(seed)
        const { wait, log, timers, take } = queueOf(policy, { pace })
        take(random.between(1, 10))
        for (let i = 0; i < 60; i++) {
          wait(`${i}`, random.between(1, 5), { timeoutMs: random.between(0, 20_000) })
          await timers.pass(random.between(0, 3) === 0 ? random.between(0, 2000) : 0)
        }
        await timers.pass(30_000)
        logs.push(log)
      }
      const [paced, reference] = logs as [string[], string[]]
      const served = servedIn(paced)
      for (const i of servedIn(reference)) expect(served, `seed ${seed}`).toContain(i)
      rejectedEarlier += paced.filter((line) => line.endsWith('TIMEOUT') && !reference.includes(line)).length
    }
    expect(rejectedEarlier).toBeGreaterThan(200)
  })
})

const POLICIES = [
  tokenBucket({ capacity: 10, refillRate: 4 }),
  leakyBucket({ capacity: 10, leakRate: 2 }),
  fixedWindow({ limit: 10, window: '5s' }),
  slidingWindowLog({ limit: 10, window: '5s' }),
  slidingWindowCounter({ limit: 10, window: '5s' }),
]

/** The names of the calls that resolved, in order. */
function servedIn(log: string[]): number[] {
  return log
    .map((line) => line.split(' '))
    .filter((words) => words.length === 2)
    .map((words) => Number(words[1]))
}
