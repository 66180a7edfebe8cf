import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { guard } from '../../test/guard.js'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { createLimiter, type LimiterOptions } from '../limiter/index.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { concurrency, fixedWindow, tokenBucket } from '../policy/index.js'
import { type FailureOptions, TEST_ENVIRONMENT } from '../resilience/index.js'
import { ReferenceStore } from '../testing/reference-store.js'
import { takeAndHold } from './acquire.js'

const policy = concurrency({ limit: 2, ttl: '12s', name: 'jobs' })

/** A limiter with the clock and timers of the test. */
function inMemory() {
  const clock = new ManualClock(1_800_000_000_000)
  const timers = new ManualTimers()
  const store = new MemoryStore({ clock })
  const options = { policy, store, [TEST_ENVIRONMENT]: { timers } }
  const limiter = createLimiter(options as LimiterOptions<MemoryStore>)
  const pass = inSteps(async (ms) => {
    clock.advance(ms)
    await timers.pass(ms)
  })
  return { limiter, store, clock, timers, pass }
}

/** The clock of the store must not run ahead of the renewals. */
function inSteps(pass: (ms: number) => Promise<void>) {
  return async (ms: number) => {
    for (let left = ms; left > 0; left -= 500) await pass(Math.min(left, 500))
  }
}

describe('acquire', () => {
  it('is a decision with an id, a release and a signal', async () => {
    const { limiter } = inMemory()
    const slot = limiter.acquire('k')
    expect(slot).toMatchObject({ allowed: true, limit: 2, remaining: 1, policy: 'jobs' })
    expect(slot.id).toMatch(/./)
    expect(slot.signal).toBeInstanceOf(AbortSignal)
    expect(await slot.release()).toBe(true)
    expect(limiter.peek('k').remaining).toBe(2)
  })

  it('rejects a cost or options after the key, which would be ignored', async () => {
    const { limiter } = inMemory()
    const acquire = limiter.acquire as (...args: unknown[]) => unknown
    expect(() => acquire('k', 2)).toThrow(
      "acquire takes only a key, got 2 after it. A call acquires one slot: write limiter.acquire('user:123').",
    )
    expect(() => acquire('k', { timeoutMs: 5 })).toThrow('got {"timeoutMs":5} after it')
    expect(limiter.peek('k').remaining).toBe(2)
    await limiter.acquire('k').release()
  })

  it('denies the request that finds no free slot, until one is released', async () => {
    const { limiter, timers } = inMemory()
    const [first] = [limiter.acquire('k'), limiter.acquire('k')]
    const denied = limiter.acquire('k')
    expect(denied).toMatchObject({ allowed: false, reason: 'slot', remaining: 0, retryAfterMs: 12_000 })
    expect(await denied.release()).toBe(false)
    expect(denied.signal.aborted).toBe(false)
    expect(timers.created).toBe(1)
    await first!.release()
    expect(limiter.acquire('k').allowed).toBe(true)
  })

  it('holds the slot for longer than its ttl', async () => {
    const { limiter, pass } = inMemory()
    const slot = limiter.acquire('k')
    await pass(60_000)
    expect([limiter.peek('k').remaining, slot.signal.aborted]).toEqual([1, false])
    await slot.release()
    expect(limiter.peek('k').remaining).toBe(2)
  })

  it('releases the slot at the end of an await using block, also after an error', async () => {
    const { limiter } = inMemory()
    const work = async () => {
      await using slot = limiter.acquire('k')
      expect([slot.allowed, limiter.peek('k').remaining]).toEqual([true, 1])
      throw new Error('broken')
    }
    await expect(work()).rejects.toThrow('broken')
    expect(limiter.peek('k').remaining).toBe(2)
  })

  it('needs a concurrency policy, and a store that has slots', async () => {
    const rate = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m', name: 'rate' }) })
    expect(() => rate.acquire('k')).toThrow(
      expect.objectContaining({ code: 'OPERATION_UNSUPPORTED', field: 'policy' }),
    )
    const { check, take, peek, refund, reset, close, traits } = new FallibleStore(new ManualClock())
    const basic = { traits, check, take, peek, refund, reset, close }
    const message = /has no renew\(\)/
    const unguarded = createLimiter({ policy, store: basic, failure: false })
    await expect(unguarded.acquire('k')).rejects.toThrow(message)
    await expect(createLimiter({ policy, store: basic }).acquire('k')).rejects.toThrow(message)
  })

  it('rejects an invalid key as the store does', async () => {
    expect(() => inMemory().limiter.acquire('')).toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
    const remote = createLimiter({ policy, store: new FallibleStore(new ManualClock()) })
    await expect(remote.acquire('')).rejects.toMatchObject({ code: 'KEY_INVALID' })
  })

  it('has no refund, charge or block', () => {
    const { limiter } = inMemory()
    const unsupported = expect.objectContaining({ code: 'OPERATION_UNSUPPORTED' })
    expect(() => limiter.refund('k', limiter.check('k'))).toThrow(unsupported)
    expect(() => limiter.charge('k', 1)).toThrow(unsupported)
    expect(() => limiter.block('k', '1m')).toThrow(unsupported)
    expect(() => limiter.check('k', 2)).toThrow(expect.objectContaining({ code: 'COST_INVALID' }))
  })
})

/** A limiter on a store that fails on demand. */
function onFallible(onStoreFailure: 'open' | 'closed' | 'local', { instances = 1 } = {}) {
  const own = concurrency({ limit: 4, ttl: '12s', name: 'jobs', onStoreFailure, instances })
  const environment = {
    clock: new ManualClock(1_800_000_000_000),
    timers: new ManualTimers(),
    random: () => 0.5,
  }
  const store = new FallibleStore(environment.clock)
  const { guarded, pass } = guard(store, {}, environment)
  const options = { policy: own, store: guarded, [TEST_ENVIRONMENT]: environment }
  const limiter = createLimiter(options as LimiterOptions<typeof guarded> & FailureOptions)
  const free = () => store.memory.peek({ policy: own, key: 'k', cost: 1 }).remaining
  return { limiter, store, guarded, pass: inSteps(pass), free, own }
}

describe('an unavailable store', () => {
  it('open: allows without a slot, which nothing renews or releases', async () => {
    const { limiter, store, pass } = onFallible('open')
    store.state = 'failing'
    const slot = await limiter.acquire('k')
    expect(slot).toMatchObject({ allowed: true, degraded: 'open' })
    store.methods.length = 0
    await pass(60_000)
    expect(await slot.release()).toBe(false)
    expect([store.methods, slot.signal.aborted]).toEqual([[], false])
  })

  it('closed: denies', async () => {
    const { limiter, store } = onFallible('closed')
    store.state = 'failing'
    expect(await limiter.acquire('k')).toMatchObject({ allowed: false, degraded: 'closed' })
  })

  it('local: counts in this process, against its share, until the slot is released', async () => {
    const { limiter, store, pass } = onFallible('local', { instances: 2 })
    store.state = 'failing'
    const slots = [await limiter.acquire('k'), await limiter.acquire('k')]
    expect(slots.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, 'local'],
      [true, 'local'],
    ])
    expect(await limiter.acquire('k')).toMatchObject({ allowed: false, degraded: 'local', limit: 4 })
    // Held for longer than the ttl.
    await pass(30_000)
    expect((await limiter.acquire('k')).allowed).toBe(false)
    expect(await slots[0]!.release()).toBe(true)
    expect((await limiter.acquire('k')).allowed).toBe(true)
  })

  it('local: the end of the outage does not abort the work', async () => {
    const { limiter, store, pass } = onFallible('local')
    store.state = 'failing'
    const slot = await limiter.acquire('k')
    store.state = 'up'
    await pass(5000)
    expect(await limiter.peek('k')).not.toHaveProperty('degraded')
    await pass(60_000)
    expect([slot.signal.aborted, await slot.release()]).toEqual([false, false])
  })

  it.each(['open', 'local'] as const)(
    '%s: keeps a slot that cannot be renewed, and marks it',
    async (mode) => {
      const { limiter, store, pass, free } = onFallible(mode)
      const slot = await limiter.acquire('k')
      expect('degraded' in slot).toBe(false)
      store.state = 'failing'
      await pass(8000)
      expect([slot.degraded, slot.signal.aborted]).toEqual([mode, false])
      store.state = 'up'
      await pass(3000)
      expect(['degraded' in slot, slot.signal.aborted, free()]).toEqual([false, false, 3])
      await slot.release()
      expect(free()).toBe(4)
    },
  )

  it('closed: aborts at the deadline', async () => {
    const { limiter, store, pass } = onFallible('closed')
    const slot = await limiter.acquire('k')
    store.state = 'failing'
    await pass(11_999)
    expect(slot.signal.aborted).toBe(false)
    await pass(1)
    expect(slot.signal.reason).toMatchObject({ code: 'SLOT_LOST' })
  })

  it('rejects a release that the store fails', async () => {
    const { limiter, store } = onFallible('open')
    const slot = await limiter.acquire('k')
    store.state = 'failing'
    await expect(slot.release()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it('an acquire that timed out sends one release', async () => {
    const { limiter, store, pass, free } = onFallible('open')
    await limiter.peek('k')
    store.state = 'hanging'
    const acquiring = limiter.acquire('k')
    await pass(100)
    expect(await acquiring).toMatchObject({ allowed: true, degraded: 'open' })
    // Executed, although the answer was lost.
    expect(store.methods).toEqual(['peek', 'check', 'release'])
    expect(free()).toBe(4)
  })

  it('a take that timed out releases its slots, and only those', async () => {
    const { guarded, store, pass, free, own } = onFallible('open')
    const rate = tokenBucket({ capacity: 5, refillRate: 1, name: 'rate' })
    await guarded.peek({ policy: own, key: 'k', cost: 1 })
    store.state = 'hanging'
    const taking = guarded.take([
      { policy: rate, key: 'k', cost: 1 },
      { policy: own, key: 'k', cost: 1 },
    ])
    await pass(100)
    await taking
    expect([free(), store.methods]).toEqual([4, ['peek', 'take', 'release']])
  })

  it('a rate limit that timed out sends nothing', async () => {
    const { guarded, store, pass } = onFallible('open')
    const rate = tokenBucket({ capacity: 5, refillRate: 1, name: 'rate' })
    await guarded.peek({ policy: rate, key: 'k', cost: 1 })
    store.state = 'hanging'
    const checking = guarded.check({ policy: rate, key: 'k', cost: 1 })
    await pass(100)
    await checking
    expect(store.methods).toEqual(['peek', 'check'])
  })
})

describe('a store in parts', () => {
  it('renews the slots of the parts that are up', async () => {
    const { limiter, store, pass } = onParts()
    const [up, down] = [await limiter.acquire('up'), await limiter.acquire('down')]
    store.downKey = 'down'
    await pass(60_000)
    expect([up.degraded, down.degraded]).toEqual([undefined, 'open'])
    expect(store.memory.renew([{ policy, key: 'up', id: up.id }])).toEqual([true])
    expect(await up.release()).toBe(true)
    await expect(down.release()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

/** A store with a part for each key. */
function onParts() {
  const environment = {
    clock: new ManualClock(1_800_000_000_000),
    timers: new ManualTimers(),
    random: () => 0.5,
  }
  const store = Object.assign(new FallibleStore(environment.clock, { partOf: ({ key }) => key }), {
    downKey: '',
  })
  const renew = store.renew
  const release = store.release
  const failing = <T>(slots: readonly { key: string }[], send: () => Promise<T>) =>
    slots.some(({ key }) => key === store.downKey) ? Promise.reject(new Error('down')) : send()
  store.renew = (slots, call) => failing(slots, () => renew(slots, call))
  store.release = (slots, call) => failing(slots, () => release(slots, call))
  const { guarded, pass } = guard(store, {}, environment)
  const options = { policy, store: guarded, [TEST_ENVIRONMENT]: environment }
  return { limiter: createLimiter(options as LimiterOptions<typeof guarded>), store, pass: inSteps(pass) }
}

describe('takeAndHold', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => {
    // The renewals of this process have one timer: it must not stay set by the fake clock.
    vi.runOnlyPendingTimers()
    vi.useRealTimers()
  })

  const rate = tokenBucket({ capacity: 5, refillRate: '1/1h', name: 'rate' })
  const requests = [
    { policy: rate, key: 'k', cost: 1 },
    { policy, key: 'k', cost: 1 },
  ]

  it('takes from all limits, and holds the slots until they are released', async () => {
    const clock = new ManualClock(1_800_000_000_000)
    const store = new MemoryStore({ clock })
    const taken = await takeAndHold(store, requests)
    expect(taken).toMatchObject({ allowed: true, decisions: [{ remaining: 4 }, { remaining: 1 }] })
    for (let i = 0; i < 30; i++) {
      clock.advance(1000)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(store.peek(requests[1]!).remaining).toBe(1)
    expect(await taken.release()).toBe(true)
    expect([store.peek(requests[0]!).remaining, store.peek(requests[1]!).remaining]).toEqual([4, 2])
  })

  it('holds nothing if it is denied', async () => {
    const store = new MemoryStore()
    await takeAndHold(store, requests)
    await takeAndHold(store, requests)
    const denied = await takeAndHold(store, requests)
    expect([denied.allowed, await denied.release()]).toEqual([false, false])
    expect(store.peek(requests[0]!).remaining).toBe(3)
  })

  it('is an ordinary take without concurrency policies', async () => {
    const taken = await takeAndHold(new ReferenceStore(new ManualClock()), [requests[0]!])
    expect([taken.allowed, await taken.release(), taken.signal.aborted]).toEqual([true, false, false])
  })
})
