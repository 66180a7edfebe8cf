import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../clock.js'
import { definePolicy, fixedWindow, slidingWindowLog, tokenBucket } from '../policy/index.js'
import { MemoryStore } from './memory-store.js'

const minute = fixedWindow({ limit: 10, window: '1m', name: 'minute' })
const START_MS = 1_800_000_000_000

/** Bytes in use on the heap after a garbage collection. */
function heapUsed(): number {
  setFlagsFromString('--expose_gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

function storeOf(maxKeys: number) {
  const clock = new ManualClock(START_MS)
  return { clock, store: new MemoryStore({ clock, maxKeys }) }
}

describe('keys', () => {
  it('never holds more than maxKeys', () => {
    const { store } = storeOf(100)
    for (let i = 0; i < 1000; i++) {
      store.check({ policy: minute, key: `k${i}`, cost: 1 })
      expect(store.size).toBeLessThanOrEqual(100)
    }
    expect(store.size).toBe(100)
  })

  it('counts the keys of all policies towards maxKeys', () => {
    const { store } = storeOf(50)
    for (let i = 0; i < 500; i++) {
      const policy = fixedWindow({ limit: 10, window: '1m', name: `p${i % 100}` })
      store.check({ policy, key: `k${i}`, cost: 1 })
    }
    expect(store.size).toBe(50)
  })

  it('removes expired keys as new keys arrive, without a timer', () => {
    const { clock, store } = storeOf(1_000_000)
    for (let i = 0; i < 1000; i++) store.check({ policy: minute, key: `old${i}`, cost: 1 })
    clock.advance(60_000)
    for (let i = 0; i < 600; i++) store.check({ policy: minute, key: `new${i}`, cost: 1 })
    // Each new key sweeps two slots, so 600 new keys sweep all 1,000 old ones.
    expect(store.size).toBe(600)
  })

  it('reuses the slots of removed keys', () => {
    const { clock, store } = storeOf(1000)
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 500; i++) store.check({ policy: minute, key: `r${round}k${i}`, cost: 1 + (i % 10) })
      for (let i = 0; i < 500; i++) {
        const { remaining } = store.peek({ policy: minute, key: `r${round}k${i}`, cost: 1 })
        expect(remaining).toBe(9 - (i % 10))
      }
      clock.advance(60_000)
    }
    expect(store.size).toBeLessThanOrEqual(1000)
  })

  it('keeps every state while the store grows', () => {
    const { store } = storeOf(1_000_000)
    const log = slidingWindowLog({ limit: 10, window: '1m', name: 'log' })
    const costOf = (i: number) => 1 + (i % 10)
    for (let i = 0; i < 20_000; i++) {
      store.check({ policy: minute, key: `k${i}`, cost: costOf(i) })
      store.check({ policy: log, key: `k${i}`, cost: costOf(i) })
    }
    for (const policy of [minute, log]) {
      const wrong = count(
        20_000,
        (i) => store.peek({ policy, key: `k${i}`, cost: 1 }).remaining !== 10 - costOf(i),
      )
      expect(wrong).toBe(0)
    }
    expect(store.size).toBe(40_000)
  })

  it('needs little memory for few keys', () => {
    const before = heapUsed()
    const stores = Array.from({ length: 200 }, () => storeOf(1_000_000).store)
    for (const store of stores) store.check({ policy: minute, key: 'k', cost: 1 })
    // About 15 kB each.
    expect(heapUsed() - before).toBeLessThan(4e6)
    expect(stores.every((store) => store.size === 1)).toBe(true)
  })

  it('adds no key for a peek', () => {
    const { store } = storeOf(10)
    for (let i = 0; i < 100; i++) store.peek({ policy: minute, key: `k${i}`, cost: 1 })
    expect(store.size).toBe(0)
  })

  it('removes a key on reset, and when everything is refunded', () => {
    const { store } = storeOf(10)
    const { timeMs } = store.check({ policy: minute, key: 'a', cost: 2 })
    store.check({ policy: minute, key: 'b', cost: 1 })
    store.reset({ policy: minute, key: 'b' })
    store.refund({ policy: minute, key: 'a', timeMs, cost: 2 })
    expect(store.size).toBe(0)
  })
})

describe('a full store', () => {
  it('evicts expired keys first', () => {
    const { clock, store } = storeOf(1000)
    const short = fixedWindow({ limit: 10, window: '1s', name: 'short' })
    for (let i = 0; i < 500; i++) store.check({ policy: minute, key: `live${i}`, cost: 1 })
    for (let i = 0; i < 500; i++) store.check({ policy: short, key: `dead${i}`, cost: 9 })
    clock.advance(1000)
    // Half of the sampled keys have expired, so a sample without one is rare.
    for (let i = 0; i < 250; i++) store.check({ policy: minute, key: `new${i}`, cost: 1 })
    const left = count(500, (i) => store.peek({ policy: minute, key: `live${i}`, cost: 1 }).remaining === 9)
    expect(left).toBeGreaterThan(465)
  })

  it('evicts the keys that have used the smallest share of their limit', () => {
    const { store } = storeOf(1000)
    for (let i = 0; i < 500; i++) store.check({ policy: minute, key: `light${i}`, cost: 1 })
    for (let i = 0; i < 500; i++) store.check({ policy: minute, key: `heavy${i}`, cost: 9 })
    for (let i = 0; i < 5000; i++) store.check({ policy: minute, key: `flood${i}`, cost: 1 })
    const heavy = count(500, (i) => store.peek({ policy: minute, key: `heavy${i}`, cost: 1 }).remaining === 1)
    expect(heavy).toBeGreaterThan(450)
  })

  it('evicts the key that expires first among equally used keys', () => {
    const { store } = storeOf(1000)
    const hour = fixedWindow({ limit: 10, window: '1h', name: 'hour' })
    for (let i = 0; i < 500; i++) store.check({ policy: hour, key: `late${i}`, cost: 1 })
    for (let i = 0; i < 500; i++) store.check({ policy: minute, key: `soon${i}`, cost: 1 })
    for (let i = 0; i < 250; i++) store.check({ policy: hour, key: `new${i}`, cost: 9 })
    const late = count(500, (i) => store.peek({ policy: hour, key: `late${i}`, cost: 1 }).remaining === 9)
    expect(late).toBeGreaterThan(450)
  })

  it('keeps denying a blocked client during a flood of other keys', () => {
    const { store } = storeOf(200)
    const blocked = ['mallory', 'trudy', 'oscar']
    for (const key of blocked) {
      store.check({ policy: minute, key, cost: 10 })
      expect(store.check({ policy: minute, key, cost: 1 }).allowed).toBe(false)
    }
    for (let i = 0; i < 2000; i++) {
      expect(store.check({ policy: minute, key: `flood${i}`, cost: 1 }).allowed).toBe(true)
      // Keys that are used up, but not denied, do not release it either.
      store.check({ policy: minute, key: `flood${i}`, cost: 9 })
    }
    for (const key of blocked) expect(store.check({ policy: minute, key, cost: 1 }).allowed).toBe(false)
  })

  it.each([
    ['fixed-window', { limit: 100, window: '10m' }, { limit: 10, window: '1h' }],
    ['sliding-window-counter', { limit: 100, window: '10m' }, { limit: 10, window: '1h' }],
    ['sliding-window-log', { limit: 100, window: '10m' }, { limit: 10, window: '1h' }],
    ['token-bucket', { capacity: 100, refillRate: '100/10m' }, { capacity: 10, refillRate: '10/10h' }],
    ['leaky-bucket', { capacity: 100, leakRate: '100/10m' }, { capacity: 10, leakRate: '10/10h' }],
  ])('keeps denying a client after its limit was lowered (%s)', (algorithm, high, low) => {
    const { store } = storeOf(100)
    const before = definePolicy({ algorithm, name: 'lowered', ...high })
    const after = definePolicy({ algorithm, name: 'lowered', ...low })
    store.check({ policy: before, key: 'mallory', cost: 100 })
    expect(store.check({ policy: after, key: 'mallory', cost: 1 }).allowed).toBe(false)
    for (let i = 0; i < 1000; i++) store.check({ policy: after, key: `flood${i}`, cost: 10 })
    expect(store.check({ policy: after, key: 'mallory', cost: 1 }).allowed).toBe(false)
  })

  it('ignores denials from before the clock was set back', () => {
    const { store, clock } = storeOf(200)
    clock.advance(3_600_000)
    for (let i = 0; i < 100; i++) {
      store.check({ policy: minute, key: `stale${i}`, cost: 5 })
      expect(store.check({ policy: minute, key: `stale${i}`, cost: 10 }).allowed).toBe(false)
    }
    clock.advance(-3_600_000)
    for (let i = 0; i < 100; i++) store.check({ policy: minute, key: `stale${i}`, cost: 1 })
    clock.advance(60_000)
    for (let i = 0; i < 100; i++) store.check({ policy: minute, key: `stale${i}`, cost: 1 })
    for (let i = 0; i < 100; i++) store.check({ policy: minute, key: `busy${i}`, cost: 9 })
    for (let i = 0; i < 50; i++) store.check({ policy: minute, key: `new${i}`, cost: 10 })
    // The keys with 1 of 10 used were evicted, not those with 9.
    const left = Array.from({ length: 100 }, (_, i) =>
      store.peek({ policy: minute, key: `busy${i}`, cost: 1 }),
    )
    expect(left.filter((busy) => busy.remaining === 1).length).toBeGreaterThan(90)
  })

  it('keeps denying a client that was denied by take()', () => {
    const { store, clock } = storeOf(100)
    const hour = fixedWindow({ limit: 10, window: '1h', name: 'hour' })
    const requests = [{ policy: minute, key: 'mallory', cost: 10 }]
    expect(store.take(requests).allowed).toBe(true)
    expect(store.take(requests).allowed).toBe(false)
    clock.advance(30_000)
    // These keys are used up too, and for longer.
    for (let i = 0; i < 1000; i++) store.check({ policy: hour, key: `flood${i}`, cost: 10 })
    expect(store.peek({ policy: minute, key: 'mallory', cost: 1 }).allowed).toBe(false)
  })

  it('serves new clients while every key in the store is being denied', () => {
    const { store } = storeOf(20)
    for (let i = 0; i < 100; i++) {
      expect(store.check({ policy: minute, key: `k${i}`, cost: 10 }).allowed).toBe(true)
      expect(store.check({ policy: minute, key: `k${i}`, cost: 1 }).allowed).toBe(false)
    }
    expect(store.size).toBe(20)
  })

  describe.each([
    ['fixed-window', { limit: 10, window: '10m' }],
    ['sliding-window-log', { limit: 10, window: '10m' }],
    ['sliding-window-counter', { limit: 10, window: '10m' }],
    ['token-bucket', { capacity: 10, refillRate: '10/10m' }],
    ['leaky-bucket', { capacity: 10, leakRate: '10/10m' }],
  ])('flooded with keys that are blocked too (%s)', (algorithm, numbers) => {
    const policy = definePolicy({ algorithm, name: 'flooded', ...numbers })
    const MAX_KEYS = 500

    function flood(store: MemoryStore, keys: number): void {
      for (let i = 0; i < keys; i++) {
        store.check({ policy, key: `flood${i}`, cost: 10 })
        store.check({ policy, key: `flood${i}`, cost: 1 })
      }
      expect(store.size).toBe(MAX_KEYS)
    }

    it('keeps denying a client that was denied before', () => {
      const { store, clock } = storeOf(MAX_KEYS)
      store.check({ policy, key: 'mallory', cost: 10 })
      expect(store.check({ policy, key: 'mallory', cost: 1 }).allowed).toBe(false)
      clock.advance(1000)
      flood(store, 3 * MAX_KEYS)
      expect(store.peek({ policy, key: 'mallory', cost: 1 })).toMatchObject({ allowed: false, remaining: 0 })
      expect(store.take([{ policy, key: 'mallory', cost: 1 }]).allowed).toBe(false)
      const { allowed, retryAfterMs } = store.check({ policy, key: 'mallory', cost: 1 })
      expect(allowed).toBe(false)
      clock.advance(retryAfterMs)
      expect(store.check({ policy, key: 'mallory', cost: 1 }).allowed).toBe(true)
    })

    it('keeps denying a client that had used its limit and was not denied yet', () => {
      const { store, clock } = storeOf(MAX_KEYS)
      store.check({ policy, key: 'mallory', cost: 10 })
      clock.advance(1000)
      flood(store, 3 * MAX_KEYS)
      expect(store.check({ policy, key: 'mallory', cost: 1 }).allowed).toBe(false)
    })

    it('keeps denying a client whose requests cost more than is left', () => {
      const { store, clock } = storeOf(MAX_KEYS)
      store.check({ policy, key: 'mallory', cost: 6 })
      expect(store.check({ policy, key: 'mallory', cost: 6 }).allowed).toBe(false)
      clock.advance(1000)
      flood(store, 3 * MAX_KEYS)
      expect(store.check({ policy, key: 'mallory', cost: 6 }).allowed).toBe(false)
    })

    it('serves new clients, and the same client under another policy', () => {
      const { store } = storeOf(MAX_KEYS)
      const other = definePolicy({ algorithm, name: 'other', ...numbers })
      store.check({ policy, key: 'mallory', cost: 10 })
      flood(store, 3 * MAX_KEYS)
      expect(count(100, (i) => store.check({ policy, key: `new${i}`, cost: 1 }).allowed)).toBe(100)
      expect(store.check({ policy: other, key: 'mallory', cost: 1 }).allowed).toBe(true)
    })

    it('releases a client by reset', () => {
      const { store } = storeOf(MAX_KEYS)
      store.check({ policy, key: 'mallory', cost: 10 })
      flood(store, 3 * MAX_KEYS)
      store.reset({ policy, key: 'mallory' })
      expect(store.check({ policy, key: 'mallory', cost: 10 }).allowed).toBe(true)
    })

    it('releases all clients when the clock turns out to have been far ahead', () => {
      const { store, clock } = storeOf(MAX_KEYS)
      clock.advance(86_400_000)
      store.check({ policy, key: 'mallory', cost: 10 })
      flood(store, 3 * MAX_KEYS)
      clock.advance(-86_400_000)
      expect(count(1000, (i) => store.peek({ policy, key: `flood${i}`, cost: 1 }).allowed)).toBeGreaterThan(
        500,
      )
    })
  })

  it('takes three limits at once with room for one key', () => {
    const { store } = storeOf(1)
    const bucket = tokenBucket({ capacity: 5, refillRate: 1, name: 'bucket' })
    const log = slidingWindowLog({ limit: 5, window: '1s', name: 'log' })
    for (let i = 0; i < 10; i++) {
      const result = store.take([bucket, log, minute].map((policy) => ({ policy, key: `k${i}`, cost: 2 })))
      expect(result.decisions.map((decision) => decision.remaining)).toStrictEqual([3, 3, 8])
      expect(store.size).toBe(1)
    }
  })
})

it('keeps no policy that has no keys', () => {
  const { clock, store } = storeOf(100)
  const before = heapUsed()
  for (let i = 0; i < 50_000; i++) {
    store.check({ policy: fixedWindow({ limit: 10, window: '1m', name: `p${i}` }), key: 'k', cost: 1 })
    if (i % 1000 === 0) clock.advance(60_000)
  }
  // 50,000 policies are about 30 MB.
  expect(heapUsed() - before).toBeLessThan(10e6)
  // Using the store here keeps it from being collected before the measurement.
  expect(store.size).toBeLessThanOrEqual(100)
})

it('does not keep the string alive that a key was sliced from', () => {
  const { store } = storeOf(10_000)
  const before = heapUsed()
  for (let i = 0; i < 2000; i++) {
    const header = `${String(i).padStart(8, '0')}-of-a-long-header ${'x'.repeat(50_000)}${i}`
    store.check({ policy: minute, key: header.slice(0, 25), cost: 1 })
  }
  // The headers are 100 MB, the keys about 50 kB.
  expect(heapUsed() - before).toBeLessThan(5e6)
  expect(store.size).toBe(2000)
})

it('rejects a key that is not a string, in a large store too', () => {
  const { store } = storeOf(100_000)
  for (let i = 0; i < 20_000; i++) store.check({ policy: minute, key: `k${i}`, cost: 1 })
  for (const key of [undefined, null, 5, {}]) {
    expect(() => store.check({ policy: minute, key: key as never, cost: 1 })).toThrow(
      expect.objectContaining({ code: 'KEY_INVALID' }),
    )
  }
})

it('rejects unknown and invalid options', () => {
  expect(() => new MemoryStore({ maxKey: 5 } as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field: 'maxKey' }),
  )
  expect(() => new MemoryStore({ clock: {} as never })).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field: 'clock' }),
  )
})

it('rejects an invalid maxKeys', () => {
  for (const maxKeys of [0, -1, 1.5, Number.NaN, '10' as never]) {
    expect(() => new MemoryStore({ maxKeys })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field: 'maxKeys' }),
    )
  }
})

function count(n: number, holds: (i: number) => boolean): number {
  return Array.from({ length: n }, (_, i) => i).filter(holds).length
}

it('refunds nothing for an unknown key, even at a negative time', () => {
  const clock = new ManualClock(-1000)
  const store = new MemoryStore({ clock })
  const policy = tokenBucket({ capacity: 10, refillRate: 1 })
  expect(store.refund({ policy, key: 'unknown', timeMs: -1000, cost: 1 })).toBe(0)
  clock.set(START_MS)
  expect(store.peek({ policy, key: 'another', cost: 1 }).remaining).toBe(10)
})

it('ignores an expired state after a change of the numbers, and a peek keeps it', () => {
  const { store, clock } = storeOf(10)
  const short = slidingWindowLog({ limit: 10, window: '1m', name: 'log' })
  const long = slidingWindowLog({ limit: 10, window: '1h', name: 'log' })
  store.check({ policy: short, key: 'k', cost: 10 })
  clock.advance(60_000)
  expect(store.peek({ policy: long, key: 'k', cost: 1 }).remaining).toBe(10)
  clock.advance(-1)
  expect(store.peek({ policy: short, key: 'k', cost: 1 }).remaining).toBe(0)
})

it.each([
  { algorithm: 'fixed-window', limit: 3, window: '1m' },
  { algorithm: 'sliding-window-counter', limit: 3, window: '1m' },
  { algorithm: 'sliding-window-log', limit: 3, window: '1m' },
  { algorithm: 'token-bucket', capacity: 3, refillRate: '1/1m' },
  { algorithm: 'leaky-bucket', capacity: 3, leakRate: '1/1m' },
])('enforces limits again after the clock has returned NaN or Infinity ($algorithm)', (numbers) => {
  const policy = definePolicy(numbers)
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    let now = START_MS * 1000
    const store = new MemoryStore({ clock: { nowUs: () => now } })
    const check = () => store.check({ policy, key: 'k', cost: 1 })
    check()
    now = wrong
    for (let i = 0; i < 5; i++) check()
    now = START_MS * 1000
    expect(count(5, () => check().allowed)).toBeLessThanOrEqual(3)
    expect(check()).toMatchObject({ allowed: false, remaining: 0 })
  }
})
