import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { TidegateError } from '../errors.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow } from '../policy.js'
import { platformTimers } from '../timers.js'
import type { Store } from './store.js'
import { withDeadline } from './with-deadline.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }

function setUp({ deadlineMs = 50, connectTimeoutMs = 1000 } = {}) {
  const timers = new ManualTimers()
  const store = new FallibleStore(new ManualClock(1_800_000_000_000))
  return { timers, store, limited: withDeadline(store, { deadlineMs, connectTimeoutMs, timers }) }
}

/** The same after a first answer, when the usual deadline holds. */
async function setUpConnected(options = {}) {
  const all = setUp(options)
  await all.limited.check(request)
  all.store.asked.length = 0
  return all
}

/** What has come of a call so far: `waiting`, `answered`, or why it failed. */
function outcome(call: unknown) {
  const seen = { is: 'waiting' }
  Promise.resolve(call).then(
    () => {
      seen.is = 'answered'
    },
    (error: TidegateError) => {
      seen.is = String(error.cause ?? error.message)
    },
  )
  return seen
}

describe('a deadline', () => {
  it.each(['check', 'take', 'peek', 'refund', 'reset'] as const)('holds for %s', async (method) => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const call = {
      check: () => limited.check(request),
      take: () => limited.take([request]),
      peek: () => limited.peek(request),
      refund: () => limited.refund({ ...request, timeMs: 1_800_000_000_000 }),
      reset: () => limited.reset(request),
    }[method]
    const seen = outcome(call())
    await timers.pass(49)
    expect(seen.is).toBe('waiting')
    await timers.pass(1)
    expect(seen.is).toBe('timeout')
    expect(store.asked).toStrictEqual([method])
  })

  it('fails a call with STORE_FAILED, and says how long it waited', async () => {
    const { timers, store, limited } = await setUpConnected({ deadlineMs: 20 })
    store.mood = 'hangs'
    const call = limited.check(request) as Promise<unknown>
    const failed = expect(call).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'The store did not answer within 20 ms.',
    })
    await timers.pass(20)
    await failed
  })

  it('leaves no timer when the last call has failed before its time', async () => {
    const { timers, store, limited } = setUp()
    store.mood = 'hangs'
    const hangs = limited.check(request) as Promise<unknown>
    store.mood = 'fails'
    const fails = () => expect(limited.check(request)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await fails()
    expect(timers.waiting).toBe(1)
    store.arrive()
    await hangs
    await fails()
    expect(timers.waiting).toBe(0)
  })

  it('counts from the moment each call was made', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const first = outcome(limited.check(request))
    await timers.pass(20)
    const second = outcome(limited.check(request))
    await timers.pass(30)
    expect([first.is, second.is]).toStrictEqual(['timeout', 'waiting'])
    await timers.pass(19)
    expect(second.is).toBe('waiting')
    await timers.pass(1)
    expect(second.is).toBe('timeout')
  })

  it('costs no timer for each call', async () => {
    const { timers, limited } = await setUpConnected()
    const before = timers.set
    for (let i = 0; i < 1000; i++) await limited.check(request)
    expect(timers.set - before).toBe(1)
    await timers.pass(50)
    expect(timers.waiting).toBe(0)
  })

  it('looks at no answer that comes too late, and sends nothing again', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.pass(50)
    store.arrive()
    await timers.pass(1000)
    expect(seen.is).toBe('timeout')
    expect(store.asked).toStrictEqual(['check'])
    store.mood = 'answers'
    expect(await limited.check(request)).toMatchObject({ remaining: 997 })
  })

  it('is the connect time-out until the first answer', async () => {
    const { timers, store, limited } = setUp()
    store.mood = 'hangs'
    const early = outcome(limited.check(request))
    await timers.pass(999)
    expect(early.is).toBe('waiting')
    const later = outcome(limited.check(request))
    await timers.pass(1)
    expect(early.is).toBe('timeout')
    store.arrive()
    await timers.pass(0)
    expect(later.is).toBe('answered')
    const usual = outcome(limited.check(request))
    await timers.pass(50)
    expect(usual.is).toBe('timeout')
  })

  it('is never shorter before the first answer than after it', async () => {
    const { timers, store, limited } = setUp({ deadlineMs: 100, connectTimeoutMs: 10 })
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.pass(99)
    expect(seen.is).toBe('waiting')
    await timers.pass(1)
    expect(seen.is).toBe('timeout')
  })

  it('keeps no timer of a second once the store has answered', async () => {
    const { timers } = await setUpConnected()
    expect(timers.waiting).toBe(0)
  })

  it('keeps no timer of seconds once nobody waits, and has one again for the next', async () => {
    const { timers, store, limited } = await setUpConnected({ deadlineMs: 5000 })
    await limited.check(request)
    expect(timers.waiting).toBe(0)
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.pass(4999)
    expect(seen.is).toBe('waiting')
    await timers.pass(1)
    expect(seen.is).toBe('timeout')
  })

  it('leaves what the store says as it is: answers, errors, plain values, what it throws', async () => {
    const { store, limited } = setUp()
    expect(await limited.check(request)).toStrictEqual({ ...store.memory.peek(request), remaining: 999 })
    await expect(limited.check({ ...request, cost: 0 })).rejects.toMatchObject({ code: 'COST_INVALID' })
    store.mood = 'fails'
    await expect(limited.check(request)).rejects.toMatchObject({ message: 'The store is down.' })

    const memory = new MemoryStore()
    const near = withDeadline(memory, { deadlineMs: 50, connectTimeoutMs: 50, timers: new ManualTimers() })
    expect(near.check(request)).toMatchObject({ allowed: true, remaining: 999 })
    expect(() => near.check({ ...request, key: '' })).toThrow(TidegateError)
  })
})

describe('when the process was busy at the deadline', () => {
  it('what has arrived is read before anything is given up', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const calls = [outcome(limited.check(request)), outcome(limited.check(request))]
    await timers.block(300, store.arrive)
    expect(calls.map(({ is }) => is)).toStrictEqual(['answered', 'answered'])
  })

  it('a call that is given up says that it may not have been the store', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.block(300)
    expect(seen.is).toBe('timeout-of-busy-process')
  })

  it('that excuse holds once, until something has arrived again', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    for (const expected of ['timeout-of-busy-process', 'timeout', 'timeout']) {
      const seen = outcome(limited.check(request))
      await timers.block(300)
      expect(seen.is).toBe(expected)
    }
    store.mood = 'answers'
    await limited.check(request)
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.block(300)
    expect(seen.is).toBe('timeout-of-busy-process')
  })

  it('a timer that is a few milliseconds late is no excuse', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.block(59)
    expect(seen.is).toBe('timeout')
  })

  it('a timer that is 10 milliseconds late is one', async () => {
    const { timers, store, limited } = await setUpConnected()
    store.mood = 'hangs'
    const seen = outcome(limited.check(request))
    await timers.block(60)
    expect(seen.is).toBe('timeout-of-busy-process')
  })

  it('reads what has arrived on the real event loop, too', async () => {
    // Another thread answers while this one is busy.
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads')
       parentPort.on('message', (message) => parentPort.postMessage(message))`,
      { eval: true },
    )
    const echo = () => new Promise((resolve) => worker.once('message', resolve).postMessage('hello'))
    try {
      const remote = { check: echo } as unknown as Store
      const limited = withDeadline(remote, {
        deadlineMs: 20,
        connectTimeoutMs: 20_000,
        timers: platformTimers,
      })
      await limited.check(request)
      const call = limited.check(request)
      const start = performance.now()
      while (performance.now() - start < 150);
      expect(await call).toBe('hello')
    } finally {
      await worker.terminate()
    }
  })
})
