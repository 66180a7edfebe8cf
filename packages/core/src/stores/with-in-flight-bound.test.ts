import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { allDone } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { fixedWindow } from '../policy.js'
import { withInFlightBound } from './with-in-flight-bound.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }
const tooMany = expect.objectContaining({ code: 'STORE_FAILED', cause: 'too-many-in-flight' })

function setUp(maxInFlight: number) {
  const store = new FallibleStore(new ManualClock(1_800_000_000_000))
  return { store, bounded: withInFlightBound(store, { maxInFlight }) }
}

describe('a bound on what is in flight', () => {
  it('does not ask the store beyond it, and asks again when an answer has come', async () => {
    const { store, bounded } = setUp(3)
    store.mood = 'hangs'
    const calls = [bounded.check(request), bounded.peek(request), bounded.reset(request)]
    for (const call of [
      () => bounded.check(request),
      () => bounded.take([request]),
      () => bounded.peek(request),
      () => bounded.refund({ ...request, timeMs: 0 }),
      () => bounded.reset(request),
    ]) {
      expect(call).toThrow(tooMany)
    }
    expect(store.asked).toStrictEqual(['check', 'peek', 'reset'])
    store.arrive()
    await Promise.all(calls)
    store.mood = 'answers'
    expect(await bounded.check(request)).toMatchObject({ allowed: true })
  })

  it('counts what failed as answered', async () => {
    const { store, bounded } = setUp(1)
    store.mood = 'fails'
    for (let i = 0; i < 3; i++) {
      await expect(bounded.check(request)).rejects.toMatchObject({ message: 'The store is down.' })
    }
    store.mood = 'answers'
    for (let i = 0; i < 3; i++) {
      await expect(bounded.check({ ...request, cost: -1 })).rejects.toMatchObject({ code: 'COST_INVALID' })
    }
    expect(await bounded.check(request)).toMatchObject({ remaining: 999 })
  })

  it('counts each request of a take, and lets a long one through while there is room', async () => {
    const { store, bounded } = setUp(3)
    store.mood = 'hangs'
    const long = bounded.take(Array.from({ length: 10 }, () => request))
    expect(() => bounded.check(request)).toThrow(tooMany)
    store.arrive()
    await long
    const two = bounded.take([request, request])
    const one = bounded.check(request)
    expect(() => bounded.check(request)).toThrow(tooMany)
    store.arrive()
    await Promise.all([one, two])
    await allDone()
    store.mood = 'answers'
    expect(await bounded.check(request)).toMatchObject({ allowed: true })
  })

  it('counts nothing that is answered or thrown at once', () => {
    const bounded = withInFlightBound(new MemoryStore(), { maxInFlight: 1 })
    for (let i = 0; i < 10; i++) expect(bounded.check(request)).toMatchObject({ allowed: true })
    for (let i = 0; i < 10; i++) expect(() => bounded.check({ ...request, key: '' })).toThrow('The key')
    for (let i = 0; i < 10; i++) expect(() => bounded.take('no list' as never)).toThrow('A take needs')
  })
})
