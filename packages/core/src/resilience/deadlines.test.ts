import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { guard, guardFallible, START_MS } from '../../test/guard.js'
import { ManualTimers } from '../../test/manual-timers.js'
import type { Decision } from '../decision.js'
import type { TidegateError } from '../errors.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow } from '../policy/index.js'
import type { Store, TakeResult } from '../store/store.js'
import { createDeadlines } from './deadlines.js'
import { createEventLoopTime } from './event-loop-time.js'
import { type FailureOptions, withFallback } from './index.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }

/** A store that has answered once: from then on `deadlineMs` applies instead of `connectTimeoutMs`. */
async function setUpConnected(options: FailureOptions = {}) {
  const setup = guardFallible(options)
  await setup.guarded.check(request)
  await setup.pass(10)
  setup.store.methods.length = 0
  setup.store.state = 'hanging'
  return setup
}

/** The outcome so far: `pending`, `stored`, how it was degraded, `nothing refunded`, or the cause of the error. */
function watch(result: Promise<unknown>) {
  const outcome = { is: 'pending' }
  result.then(
    (value) => {
      const { decisions, degraded = decisions?.[0]?.degraded } = (value ?? {}) as Partial<
        TakeResult & Decision
      >
      outcome.is = value === 0 ? 'nothing refunded' : (degraded ?? 'stored')
    },
    (error: TidegateError) => {
      outcome.is = String(error.cause ?? error.message)
    },
  )
  return outcome
}

describe('the deadline of a call', () => {
  it.each([
    ['check', 'open'],
    ['take', 'open'],
    ['peek', 'open'],
    ['refund', 'nothing refunded'],
    ['reset', 'timeout'],
  ] as const)('applies to %s', async (method, expected) => {
    const { pass, store, guarded, eventsOf } = await setUpConnected()
    const call = {
      check: () => guarded.check(request),
      take: () => guarded.take([request]),
      peek: () => guarded.peek(request),
      refund: () => guarded.refund({ ...request, timeMs: START_MS }),
      reset: () => guarded.reset(request),
    }[method]
    const outcome = watch(call())
    await pass(49)
    expect(outcome.is).toBe('pending')
    await pass(1)
    expect(outcome.is).toBe(expected)
    expect(eventsOf('call-failed')).toMatchObject([{ isTimeout: true }])
    expect(store.methods).toStrictEqual([method])
  })

  it('fails the call with STORE_FAILED and the time that it waited', async () => {
    const { pass, guarded } = await setUpConnected({ deadlineMs: 20 })
    const rejects = expect(guarded.reset(request)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      cause: 'timeout',
      message: 'The store did not respond within 20 ms.',
    })
    await pass(20)
    await rejects
  })

  it('starts when the call is made', async () => {
    const { pass, guarded } = await setUpConnected()
    const first = watch(guarded.check(request))
    await pass(20)
    const second = watch(guarded.check(request))
    await pass(30)
    expect([first.is, second.is]).toStrictEqual(['open', 'pending'])
    await pass(19)
    expect(second.is).toBe('pending')
    await pass(1)
    expect(second.is).toBe('open')
  })

  it.each([5, 12, 15, 20])(
    'is not shortened by %d ms of synchronous work before the call',
    async (workMs) => {
      const { pass, timers, store, guarded } = await setUpConnected()
      const first = guarded.check(request)
      timers.work(workMs)
      const outcome = watch(guarded.check(request))
      await pass(49)
      expect(outcome.is).toBe('pending')
      store.deliver()
      await first
    },
  )

  it.each([15, 1000, 3_600_000])('is exact for the first call after %d ms without calls', async (idleMs) => {
    const { pass, guarded } = await setUpConnected()
    await pass(idleMs)
    const outcome = watch(guarded.check(request))
    await pass(49)
    expect(outcome.is).toBe('pending')
    await pass(1)
    expect(outcome.is).toBe('open')
  })

  it('discards a reply that arrives too late, and sends nothing again', async () => {
    const { pass, store, guarded } = await setUpConnected()
    const outcome = watch(guarded.check(request))
    await pass(50)
    store.deliver()
    await pass(1000)
    expect(outcome.is).toBe('open')
    expect(store.methods).toStrictEqual(['check'])
    store.state = 'up'
    expect(await guarded.check(request)).toMatchObject({ remaining: 997 })
  })

  it('is connectTimeoutMs until the first reply', async () => {
    const { pass, store, guarded } = guardFallible()
    store.state = 'hanging'
    const early = watch(guarded.check(request))
    await pass(999)
    expect(early.is).toBe('pending')
    const later = watch(guarded.check(request))
    await pass(1)
    expect(early.is).toBe('open')
    store.deliver()
    await pass(0)
    expect(later.is).toBe('stored')
    const connected = watch(guarded.check(request))
    await pass(50)
    expect(connected.is).toBe('open')
  })

  it('names connectTimeoutMs in the error of a store that has never answered', async () => {
    const { pass, store, guarded, eventsOf } = guardFallible({ connectTimeoutMs: 300 })
    store.state = 'hanging'
    const outcome = watch(guarded.check(request))
    await pass(300)
    expect(outcome.is).toBe('open')
    expect(eventsOf('call-failed')).toMatchObject([
      { error: { message: 'The store did not respond within 300 ms.' } },
    ])
  })

  it('is never shorter before the first reply than after it', async () => {
    const { pass, store, guarded, eventsOf } = guardFallible({ deadlineMs: 100, connectTimeoutMs: 10 })
    store.state = 'hanging'
    const outcome = watch(guarded.check(request))
    await pass(99)
    expect(outcome.is).toBe('pending')
    await pass(1)
    expect(outcome.is).toBe('open')
    const message = 'The store did not respond within 100 ms.'
    expect(eventsOf('call-failed')).toMatchObject([{ error: { message } }])
  })

  it('does not change results and input errors of the store', async () => {
    const { store, guarded } = guardFallible()
    expect(await guarded.check(request)).toStrictEqual({ ...store.memory.peek(request), remaining: 999 })
    await expect(guarded.check({ ...request, cost: 0 })).rejects.toMatchObject({ code: 'COST_INVALID' })
    const { guarded: local } = guard(new MemoryStore())
    expect(await local.check(request)).toMatchObject({ allowed: true, remaining: 999 })
    await expect(local.check({ ...request, key: '' })).rejects.toMatchObject({ code: 'KEY_INVALID' })
  })

  it('is measured with one timer for all calls', async () => {
    const { timers, store, guarded } = await setUpConnected()
    store.state = 'up'
    const before = timers.created
    for (let i = 0; i < 1000; i++) await guarded.check(request)
    expect(timers.created - before).toBe(1)
  })

  it.each([50, 5000])(
    'leaves no timer one tick after the last reply (deadline %d ms)',
    async (deadlineMs) => {
      const { timers, store, guarded, pass } = await setUpConnected({ deadlineMs })
      const hanging = guarded.check(request)
      store.state = 'failing'
      await guarded.check(request)
      await pass(10)
      expect(timers.pending).toBe(1)
      store.deliver()
      await hanging
      await pass(10)
      expect(timers.pending).toBe(0)
      store.state = 'hanging'
      const outcome = watch(guarded.check(request))
      await pass(deadlineMs - 1)
      expect(outcome.is).toBe('pending')
      await pass(1)
      expect(outcome.is).toBe('open')
    },
  )
})

describe('when the event loop is blocked at the deadline', () => {
  it('replies that have arrived are read first', async () => {
    const { timers, store, guarded } = await setUpConnected()
    const outcomes = [watch(guarded.check(request)), watch(guarded.check(request))]
    for (let i = 0; i < 4; i++) await timers.block(300)
    await timers.block(300, store.deliver)
    expect(outcomes.map(({ is }) => is)).toStrictEqual(['stored', 'stored'])
  })

  it('each period without the event loop counts as one tick of 10 ms', async () => {
    const { timers, guarded } = await setUpConnected()
    const outcome = watch(guarded.check(request))
    for (let i = 0; i < 4; i++) await timers.block(300)
    expect(outcome.is).toBe('pending')
    await timers.block(300)
    expect(outcome.is).toBe('open')
  })

  it('replies are read first on the real event loop', async () => {
    // Another thread replies while this one is blocked, and counts its replies.
    const replies = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads')
       parentPort.on('message', (message) => {
         parentPort.postMessage(message)
         Atomics.add(workerData, 0, 1)
       })`,
      { eval: true, workerData: replies },
    )
    const echo = () => new Promise((resolve) => worker.once('message', resolve).postMessage('hello'))
    try {
      const remote = { check: echo } as unknown as Store
      const guarded = withFallback(remote, { deadlineMs: 5, connectTimeoutMs: 20_000, onEvent() {} })
      await guarded.check(request)
      for (let i = 0; i < 3; i++) {
        const replied = Atomics.load(replies, 0)
        const reply = guarded.check(request)
        const startMs = performance.now()
        // Past the deadline, and until the reply is there: a busy machine may run the worker late.
        while (performance.now() - startMs < 20 || Atomics.load(replies, 0) === replied);
        expect(await reply).toBe('hello')
      }
    } finally {
      await worker.terminate()
    }
  })
})

describe('a list of deadlines', () => {
  function setUp() {
    const timers = new ManualTimers()
    const late: number[] = []
    const loop = createEventLoopTime(timers.now)
    const deadlines = createDeadlines({ timers, loop, onLate: (lateMs) => late.push(lateMs) })
    return { timers, deadlines, late, startMs: loop.now() }
  }

  it('expires in order of time, not of creation', async () => {
    const { timers, deadlines, startMs } = setUp()
    const expired: number[] = []
    for (const dueMs of [30, 10, 20, 10]) {
      deadlines.start(startMs + dueMs, (nowMs) => {
        expired.push(dueMs, nowMs - startMs)
        return undefined
      })
    }
    await timers.pass(30)
    expect(expired).toStrictEqual([10, 10, 10, 10, 20, 20, 30, 30])
  })

  it('looks again when the callback returns a later time, and at least 1 ms later', async () => {
    const { timers, deadlines, startMs } = setUp()
    const looks: number[] = []
    const again = [25, 0]
    deadlines.start(startMs + 10, (nowMs) => {
      looks.push(nowMs - startMs)
      const nextMs = again.shift()
      return nextMs === undefined ? undefined : startMs + nextMs
    })
    await timers.pass(100)
    expect(looks).toStrictEqual([10, 25, 26])
    expect(timers.pending).toBe(0)
  })

  it('does not expire once stopped, also when stopped twice or by another callback', async () => {
    const { timers, deadlines, startMs } = setUp()
    const expired: string[] = []
    const stopped = deadlines.start(startMs + 10, () => void expired.push('stopped'))
    deadlines.stop(stopped)
    deadlines.stop(stopped)
    deadlines.start(startMs + 10, () => {
      expired.push('first')
      deadlines.stop(second)
      return undefined
    })
    const second = deadlines.start(startMs + 10, () => void expired.push('second'))
    await timers.pass(100)
    expect(expired).toStrictEqual(['first'])
  })

  it('reports how late each timer was', async () => {
    const { timers, deadlines, late, startMs } = setUp()
    deadlines.start(startMs + 30, () => undefined)
    await timers.pass(10)
    await timers.block(200)
    expect(late).toStrictEqual([0, 190])
  })
})
