import { ManualClock } from '../../clock.js'
import type { Decision } from '../../decision.js'
import { concurrency, fixedWindow, tokenBucket } from '../../policy/index.js'
import type { FullStore } from '../../store/full-store.js'
import { ReferenceStore } from '../reference-store.js'
import { randomSlotTrace, runSlotTrace } from '../slot-trace.js'
import { START_MS } from '../tables.js'
import { codeOf, type Suite } from './suite.js'

export function testSlots({ describe, promiseOfFull, deepEqual }: Suite): void {
  const policy = concurrency({ limit: 2, ttl: '10s', name: 'jobs' })
  const key = 'k'
  const request = (id: string) => ({ policy, key, cost: 1, id })
  const slot = (id: string) => ({ policy, key, id })
  const acquire = async (store: FullStore, id: string) => store.check(request(id))
  const free = async (store: FullStore) => (await store.peek({ policy, key, cost: 1 })).remaining

  describe('slots', () => {
    promiseOfFull(
      'acquires up to the limit, then denies until the earliest slot expires',
      async (store, clock) => {
        const common = { limit: 2, cost: 1, delayMs: 0, policy: 'jobs' }
        const expected: Decision = {
          ...common,
          allowed: true,
          remaining: 1,
          retryAfterMs: 0,
          resetAfterMs: 10_000,
          timeMs: START_MS,
          id: 'a',
        }
        deepEqual(await acquire(store, 'a'), expected)
        clock.advance(4000)
        deepEqual(await acquire(store, 'b'), { ...expected, remaining: 0, timeMs: START_MS + 4000, id: 'b' })
        clock.advance(1000)
        const denied: Decision = {
          ...common,
          allowed: false,
          remaining: 0,
          retryAfterMs: 5000,
          resetAfterMs: 9000,
          timeMs: START_MS + 5000,
          reason: 'slot',
        }
        deepEqual(await acquire(store, 'c'), denied)
        deepEqual(await store.peek({ policy, key, cost: 1 }), denied)
        clock.advance(4999.999)
        deepEqual((await acquire(store, 'c')).allowed, false)
        clock.advance(0.001)
        deepEqual((await acquire(store, 'c')).allowed, true)
      },
    )

    promiseOfFull('generates an id if the request has none', async (store) => {
      const one = await store.check({ policy, key, cost: 1 })
      const two = (await store.take([{ policy, key, cost: 1 }])).decisions[0]!
      deepEqual(
        [typeof one.id, typeof two.id, one.id === two.id, await free(store)],
        ['string', 'string', false, 0],
      )
      deepEqual(await store.release([slot(one.id!), slot(two.id!)]), [true, true])
    })

    promiseOfFull('releases a slot once, and no other slots', async (store, clock) => {
      await acquire(store, 'a')
      await acquire(store, 'b')
      deepEqual(await store.release([slot('a')]), [true])
      deepEqual(await store.release([slot('a'), slot('unknown'), { ...slot('b'), key: 'other' }]), [
        false,
        false,
        false,
      ])
      deepEqual(await free(store), 1)
      clock.advance(10_000)
      deepEqual(await store.release([slot('b')]), [false])
      deepEqual(await free(store), 2)
    })

    promiseOfFull('renews a slot that is held', async (store, clock) => {
      await acquire(store, 'a')
      clock.advance(9999.999)
      deepEqual(await store.renew([slot('a'), slot('unknown')]), [true, false])
      clock.advance(9999.999)
      deepEqual(await free(store), 1)
      clock.advance(0.001)
      deepEqual(await free(store), 2)
    })

    promiseOfFull('does not renew a slot that has expired or was released', async (store, clock) => {
      const one = concurrency({ limit: 1, ttl: '10s', name: 'one' })
      const of = (id: string) => ({ policy: one, key, id, cost: 1 })
      await store.check(of('a'))
      clock.advance(10_000)
      deepEqual(await store.renew([of('a')]), [false])
      deepEqual((await store.check(of('b'))).allowed, true)
      clock.advance(1000)
      deepEqual(await store.renew([of('a')]), [false])
      deepEqual((await store.check(of('c'))).retryAfterMs, 9000)
      await store.release([of('b')])
      deepEqual(await store.renew([of('b')]), [false])
      deepEqual((await store.check(of('c'))).allowed, true)
    })

    promiseOfFull('counts an id that holds a slot once', async (store, clock) => {
      await acquire(store, 'a')
      await acquire(store, 'b')
      clock.advance(6000)
      const again = await acquire(store, 'a')
      deepEqual([again.allowed, again.remaining, again.id], [true, 0, 'a'])
      clock.advance(4000)
      deepEqual((await acquire(store, 'c')).remaining, 0)
    })

    promiseOfFull('takes slots together with rate limits, all or none', async (store) => {
      const rate = tokenBucket({ capacity: 3, refillRate: '1/1h', name: 'rate' })
      const both = (id: string) => [{ policy: rate, key: 'all', cost: 1 }, request(id)]
      const first = await store.take(both('a'))
      deepEqual([first.allowed, first.decisions[1]?.id, first.decisions[0]?.id], [true, 'a', undefined])
      await store.take(both('b'))
      const denied = await store.take(both('c'))
      deepEqual(
        [
          denied.allowed,
          denied.retryAfterMs,
          denied.decisions.map((decision) => [decision?.allowed, decision?.reason]),
        ],
        [
          false,
          10_000,
          [
            [true, undefined],
            [false, 'slot'],
          ],
        ],
      )
      deepEqual((await store.peek({ policy: rate, key: 'all', cost: 1 })).remaining, 1)
      await store.release([slot('a')])
      deepEqual((await store.take(both('d'))).allowed, true)
      await store.release([slot('b')])
      const withoutRate = await store.take(both('e'))
      deepEqual([withoutRate.allowed, withoutRate.decisions[1]?.id], [false, undefined])
      deepEqual([await free(store), await store.renew([slot('e')])], [1, [false]])
    })

    promiseOfFull('a request that names a limit twice takes one slot', async (store) => {
      const { decisions } = await store.take([request('a'), request('b')])
      deepEqual(
        decisions.map((decision) => [decision?.cost, decision?.remaining, decision?.id]),
        [
          [1, 1, 'a'],
          [1, 1, 'a'],
        ],
      )
    })

    promiseOfFull('reset frees every slot of the key', async (store) => {
      await acquire(store, 'a')
      await store.check({ ...request('b'), key: 'other' })
      await store.reset({ policy, key })
      deepEqual(await store.renew([slot('a'), { ...slot('b'), key: 'other' }]), [false, true])
      deepEqual(await free(store), 2)
    })

    promiseOfFull('admits exactly the limit of 200 parallel acquires', async (store) => {
      const many = concurrency({ limit: 15, ttl: '10s', name: 'many' })
      const all = await Promise.all(
        Array.from({ length: 200 }, () => store.check({ policy: many, key, cost: 1 })),
      )
      deepEqual(all.filter(({ allowed }) => allowed).length, 15)
    })

    promiseOfFull('keeps the slots in use when the limit changes', async (store, clock) => {
      const wide = concurrency({ limit: 4, ttl: '10s', name: 'jobs' })
      for (const id of ['a', 'b', 'c', 'd']) {
        await store.check({ ...request(id), policy: wide })
        clock.advance(1000)
      }
      const denied = await acquire(store, 'e')
      deepEqual([denied.remaining, denied.retryAfterMs], [0, 8000])
      await store.release([slot('a'), slot('b'), slot('c')])
      deepEqual((await acquire(store, 'e')).allowed, true)
    })

    promiseOfFull(
      'a clock that steps back costs at most one ttl, and frees no slot',
      async (store, clock) => {
        await acquire(store, 'a')
        await acquire(store, 'b')
        clock.advance(-86_400_000)
        const denied = await acquire(store, 'c')
        deepEqual([denied.allowed, denied.retryAfterMs, denied.resetAfterMs], [false, 10_000, 10_000])
        deepEqual(await store.renew([slot('a')]), [true])
        clock.advance(10_000)
        deepEqual(await free(store), 2)
      },
    )

    promiseOfFull('a clock that steps forward ends every slot', async (store, clock) => {
      await acquire(store, 'a')
      await acquire(store, 'b')
      clock.advance(86_400_000)
      deepEqual(await store.renew([slot('a')]), [false])
      deepEqual(await free(store), 2)
    })

    promiseOfFull('another algorithm under the same name starts without slots', async (store) => {
      const rate = fixedWindow({ limit: 3, window: '1h', name: 'jobs' })
      await store.check({ policy: rate, key, cost: 3 })
      deepEqual(await store.renew([slot('a')]), [false])
      deepEqual((await store.peek({ policy: rate, key, cost: 1 })).remaining, 0)
      deepEqual((await acquire(store, 'a')).remaining, 1)
      deepEqual((await store.check({ policy: rate, key, cost: 1 })).remaining, 2)
      deepEqual([await store.release([slot('a')]), await free(store)], [[false], 2])
    })

    promiseOfFull('rejects costs above 1, invalid ids, and policies without slots', async (store) => {
      deepEqual(await codeOf(() => store.check({ ...request('a'), cost: 2 })), 'COST_INVALID')
      deepEqual(await codeOf(() => store.take([{ ...request('a'), cost: 2 }])), 'COST_INVALID')
      const rate = fixedWindow({ limit: 3, window: '1h', name: 'rate' })
      const wrongIds = ['', 5 as never, 'x'.repeat(129), 'lone surrogate \ud800']
      for (const wrong of [...wrongIds.map((id) => ({ id })), { policy: rate }]) {
        deepEqual(await codeOf(() => store.release([{ ...slot('a'), ...wrong }])), 'SLOT_INVALID')
        deepEqual(await codeOf(() => store.renew([{ ...slot('a'), ...wrong }])), 'SLOT_INVALID')
      }
      for (const id of ['', '\ud800']) {
        deepEqual(await codeOf(() => store.check({ ...request(id) })), 'SLOT_INVALID')
        deepEqual(await codeOf(() => store.take([request(id)])), 'SLOT_INVALID')
      }
      deepEqual(await codeOf(() => store.release([{ ...slot('a'), key: '' }])), 'KEY_INVALID')
      deepEqual(
        await codeOf(() => store.refund({ policy, key, timeMs: START_MS, cost: 1 })),
        'OPERATION_UNSUPPORTED',
      )
      deepEqual(await free(store), 2)
    })

    promiseOfFull('decides random traces of slots like the reference store', async (store, clock) => {
      for (let seed = 1; seed <= 4; seed++) {
        const steps = randomSlotTrace(20_261_200 + seed, { length: 150 })
        const reference = new ManualClock(START_MS)
        const expected = await runSlotTrace(steps, new ReferenceStore(reference), reference)
        deepEqual(await runSlotTrace(steps, store, clock), expected)
        for (const step of steps) if (step.do === 'acquire') await store.reset(step.request)
        await store.reset({
          policy: fixedWindow({ limit: 20, window: '10s', name: 'beside-slots' }),
          key: 'a',
        })
        await store.reset({
          policy: fixedWindow({ limit: 20, window: '10s', name: 'beside-slots' }),
          key: '{b}',
        })
      }
    })
  })
}
