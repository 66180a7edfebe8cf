import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryStore } from '../memory-store/memory-store.js'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import type { Store } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'
import { createLimiter } from './index.js'
import type { WaitOptions } from './wait.js'

const START = Date.parse('2030-01-01T09:59:50Z')
const now = () => Date.now() - START
beforeEach(() => {
  vi.useFakeTimers({ now: START })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The limiter, and the times at which its calls of `wait` resolved. */
function limiterOf(policy: Policy) {
  const limiter = createLimiter({ policy, store: new MemoryStore() })
  const times: number[] = []
  const wait = (options?: WaitOptions) => limiter.wait('key', options).then(() => times.push(now()))
  return { limiter, times, wait }
}

describe('limiter.wait', () => {
  it.each([
    ['a token bucket', tokenBucket({ capacity: 2, refillRate: 1 }), [0, 0, 1000, 2000]],
    ['a leaky bucket', leakyBucket({ capacity: 2, leakRate: 1 }), [0, 1000, 2000, 3000]],
    ['a fixed window', fixedWindow({ limit: 2, window: '1m' }), [0, 0, 10_000, 10_000]],
    [
      'a window from the first request',
      fixedWindow({ limit: 2, window: '20s', start: 'first-request' }),
      [0, 0, 20_000, 20_000],
    ],
    [
      'a calendar window',
      fixedWindow({ limit: 2, window: 'day', timeZone: 'Asia/Kabul' }),
      [0, 0, 34_210_000, 34_210_000],
    ],
    ['a log', slidingWindowLog({ limit: 2, window: '20s' }), [0, 0, 20_000, 20_000]],
    [
      'a log that counts denied requests',
      slidingWindowLog({ limit: 2, window: '20s', countDenied: true }),
      [0, 0, 20_000, 20_000],
    ],
  ])('waits for %s', async (_, policy, expected) => {
    const { times, wait } = limiterOf(policy)
    for (let i = 0; i < 4; i++) wait({ timeoutMs: 86_400_000 })
    await vi.advanceTimersByTimeAsync(86_400_000)
    expect(times).toStrictEqual(expected)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('returns the decision, which can be refunded', async () => {
    const { limiter } = limiterOf(tokenBucket({ capacity: 10, refillRate: 1 }))
    const decision = await limiter.wait('key', { cost: 4 })
    expect(decision).toMatchObject({ allowed: true, cost: 4, remaining: 6 })
    expect(limiter.refund('key', decision, 3)).toBe(3)
    expect(limiter.peek('key').remaining).toBe(9)
  })

  it('waits for 30 seconds by default', async () => {
    const { limiter } = limiterOf(tokenBucket({ capacity: 100, refillRate: 1 }))
    limiter.check('key', 100)
    await expect(limiter.wait('key', { cost: 31 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })
    const inTime = limiter.wait('key', { cost: 30 })
    await vi.advanceTimersByTimeAsync(30_000)
    expect((await inTime).allowed).toBe(true)
  })

  it('10,000 calls that wait have one timer', async () => {
    const { limiter, wait, times } = limiterOf(tokenBucket({ capacity: 1, refillRate: 1000 }))
    limiter.check('key')
    for (let i = 0; i < 10_000; i++) wait()
    await vi.advanceTimersByTimeAsync(0)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(5000)
    expect(vi.getTimerCount()).toBe(1)
    expect(times).toHaveLength(5000)
    await vi.advanceTimersByTimeAsync(5000)
    expect(times).toHaveLength(10_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('serves a call with a cost of 5 among a stream of calls with a cost of 1', async () => {
    const { limiter, wait } = limiterOf(tokenBucket({ capacity: 5, refillRate: 1 }))
    limiter.check('key', 5)
    const stream = setInterval(() => wait().catch(() => {}), 500)
    await vi.advanceTimersByTimeAsync(2000)
    const large = limiter.wait('key', { cost: 5 })
    await vi.advanceTimersByTimeAsync(20_000)
    clearInterval(stream)
    const { timeMs } = await large
    // Behind the calls of the first two seconds: one served, three in line.
    expect(timeMs - START).toBeLessThanOrEqual(10_000)
  })

  it('gets the leased units that another process gives back, long before the window ends', async () => {
    const lease = { maxAge: 100, share: 1 }
    const policy = fixedWindow({ limit: 10, window: '1h', name: 'leased', lease })
    const store = new MemoryStore()
    const limiter = createLimiter({ policy, store })
    const waitUntil = (timeoutMs: number) => limiter.wait('key', { timeoutMs }).then(now, ({ code }) => code)
    const takeAll = () => store.takeUpTo({ policy, key: 'key', min: 1, max: 10, divisor: 1 }).decision
    const { timeMs } = takeAll()
    const waits = [waitUntil(1000), waitUntil(50)]
    await vi.advanceTimersByTimeAsync(90)
    expect(store.refund({ policy, key: 'key', timeMs, cost: 10 })).toBe(10)
    await vi.advanceTimersByTimeAsync(10)
    takeAll()
    waits.push(waitUntil(250))
    await vi.advanceTimersByTimeAsync(260)
    expect(await Promise.all(waits)).toStrictEqual([100, 'WAIT_TIMEOUT', 'WAIT_TIMEOUT'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a degraded decision of the store resolves the call, or makes it wait', async () => {
    let isDown = true
    const memory = new MemoryStore()
    const failing = {
      ...methodsOf(memory),
      check: async (request) => {
        if (isDown) throw storeFailed('unreachable', 'The store is down.')
        return memory.check(request)
      },
    } as Store
    const limiterWith = (onStoreFailure: 'open' | 'closed') =>
      createLimiter({
        policy: tokenBucket({ capacity: 1, refillRate: 1, onStoreFailure, name: onStoreFailure }),
        store: failing,
        failure: { onEvent: () => {} },
      })
    expect((await limiterWith('open').wait('key')).degraded).toBe('open')
    const short = expect(limiterWith('closed').wait('key', { timeoutMs: 900 })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
    })
    await vi.advanceTimersByTimeAsync(901)
    await short
    const long = limiterWith('closed').wait('key')
    await vi.advanceTimersByTimeAsync(2500)
    isDown = false
    await vi.advanceTimersByTimeAsync(10_000)
    expect((await long).degraded).toBeUndefined()
  })
})

function methodsOf(store: MemoryStore): Partial<Store> {
  const { peek, refund, reset, take, close } = store
  return Object.fromEntries(
    Object.entries({ peek, refund, reset, take, close }).map(([name, method]) => [name, method.bind(store)]),
  )
}

describe('invalid input', () => {
  const { limiter } = limiterOf(tokenBucket({ capacity: 5, refillRate: 1 }))

  it.each([
    ['an unknown option', 'key', { timeout: 5 }, 'OPTION_INVALID', 'timeout'],
    ['a cost that is not whole', 'key', { cost: 1.5 }, 'COST_INVALID', 'cost'],
    ['a cost above the limit', 'key', { cost: 6 }, 'COST_ABOVE_LIMIT', 'cost'],
    ['an empty key', '', {}, 'KEY_INVALID', 'key'],
    ['a negative timeout', 'key', { timeoutMs: -1 }, 'OPTION_INVALID', 'timeoutMs'],
    ['a timeout of more than a day', 'key', { timeoutMs: 86_400_001 }, 'OPTION_INVALID', 'timeoutMs'],
    ['a timeout without end', 'key', { timeoutMs: Infinity }, 'OPTION_INVALID', 'timeoutMs'],
    ['a duration as a timeout', 'key', { timeoutMs: '1m' }, 'OPTION_INVALID', 'timeoutMs'],
    ['a controller as a signal', 'key', { signal: new AbortController() }, 'OPTION_INVALID', 'signal'],
  ])('%s is rejected', async (_, key, options, code, field) => {
    await expect(limiter.wait(key, options as WaitOptions)).rejects.toMatchObject({ code, field })
  })

  it.each([
    ['concurrency', concurrency({ limit: 5 })],
    ['blockFor', fixedWindow({ limit: 5, window: '1m', blockFor: '5m' })],
  ])('a policy with %s is rejected', async (_, policy) => {
    await expect(createLimiter({ policy }).wait('key')).rejects.toMatchObject({
      code: 'OPERATION_UNSUPPORTED',
      field: 'policy',
    })
  })
})
