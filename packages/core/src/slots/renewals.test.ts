import { beforeEach, describe, expect, it } from 'vitest'
import { ManualTimers, settle } from '../../test/manual-timers.js'
import { TidegateError } from '../errors.js'
import { storeClosed, storeFailed } from '../store/store-error.js'
import { createRenewals, type HeldSlot, type Renewals, type RenewingStore } from './renewals.js'

const UNKNOWN_POLICY = new TidegateError('POLICY_INVALID', 'Unknown policy.', { field: 'policy' })

/** Answers renewals from a table, and keeps a list of them. */
function createStore() {
  const calls: { atMs: number; ids: string[] }[] = []
  const store = {
    calls,
    answer: (_id: string): boolean | undefined => true,
    error: undefined as unknown,
    invalidId: '',
    async renew(slots: readonly { id: string }[]) {
      calls.push({ atMs: timers.now(), ids: slots.map(({ id }) => id) })
      if (store.error !== undefined) throw store.error
      if (slots.some(({ id }) => id === store.invalidId)) throw UNKNOWN_POLICY
      return slots.map(({ id }) => store.answer(id))
    },
  }
  return store
}

let timers: ManualTimers
let renewals: Renewals
let store: ReturnType<typeof createStore>
let events: string[]

beforeEach(() => {
  timers = new ManualTimers()
  renewals = createRenewals(timers)
  store = createStore()
  events = []
})

function held(id: string, { ttlMs = 12_000, endsAtDeadline = false, on = store } = {}): HeldSlot {
  const slot = {
    store: on as unknown as RenewingStore,
    request: { id } as never,
    ttlMs,
    endsAtDeadline,
    confirmedMs: timers.now(),
    onRenewed: () => events.push(`${id} renewed`),
    onUnanswered: () => events.push(`${id} unanswered`),
    onLost: (reason: string) => events.push(`${id} ${reason}`),
  }
  renewals.add(slot)
  return slot
}

describe('renewals', () => {
  it('renews a slot every third of its ttl, counted from sending', async () => {
    held('a')
    await timers.pass(12_000)
    expect(store.calls.map(({ atMs }) => atMs)).toEqual([4000, 8000, 12_000])
  })

  it('counts the first third from the sending of the acquire', async () => {
    timers.work(1000)
    const slot = held('a')
    renewals.remove(slot)
    slot.confirmedMs = 0
    renewals.add(slot)
    await timers.pass(3000)
    expect(store.calls.map(({ atMs }) => atMs)).toEqual([4000])
  })

  it('renews all slots of a store in one call, whenever they were acquired', async () => {
    held('a')
    await timers.pass(1000)
    held('b')
    await timers.pass(2000)
    held('c')
    await timers.pass(9000)
    expect(store.calls.map(({ atMs, ids }) => `${atMs} ${ids.join('')}`)).toEqual([
      '4000 ab',
      '7000 abc',
      '11000 abc',
    ])
    expect(timers.pending).toBe(1)
  })

  it('renews 10,000 slots with one timer and 500 slots a call', async () => {
    for (let i = 0; i < 10_000; i++) held(`s${i}`)
    expect(timers.created).toBe(1)
    await timers.pass(4000)
    await settle()
    expect(store.calls.map(({ ids }) => ids.length)).toEqual(Array.from({ length: 20 }, () => 500))
  })

  it('renews the slots of each store in a call of its own', async () => {
    const other = createStore()
    held('a')
    held('b', { on: other })
    await timers.pass(4000)
    expect([store.calls, other.calls].map((calls) => calls.map(({ ids }) => ids))).toEqual([[['a']], [['b']]])
  })

  it('wakes up earlier for a shorter ttl', async () => {
    held('long', { ttlMs: 120_000 })
    held('short', { ttlMs: 3000 })
    await timers.pass(1000)
    expect(store.calls).toEqual([{ atMs: 1000, ids: ['short'] }])
  })

  it('does not renew a released slot, and stops without slots', async () => {
    const slot = held('a')
    renewals.remove(slot)
    await timers.pass(60_000)
    expect([store.calls.length, timers.pending]).toEqual([0, 0])
  })

  it('ignores the response for a slot that was released in the meantime', async () => {
    const slot = held('a')
    store.answer = () => {
      renewals.remove(slot)
      return false
    }
    await timers.pass(20_000)
    expect([events, store.calls.length]).toEqual([[], 1])
  })

  it('a slot that is gone is lost once, and not renewed again', async () => {
    held('a')
    held('b')
    store.answer = (id) => id !== 'a'
    await timers.pass(8000)
    expect(events).toEqual(['a gone', 'b renewed', 'b renewed'])
  })

  it('tries again soon if the store fails, and again later', async () => {
    held('a')
    store.error = storeFailed('timeout', 'late')
    await timers.pass(6000)
    expect(store.calls.map(({ atMs }) => atMs)).toEqual([4000, 5000, 6000])
    store.error = undefined
    await timers.pass(6000)
    expect(store.calls.map(({ atMs }) => atMs)).toEqual([4000, 5000, 6000, 7000, 11_000])
    expect(events).toEqual(['a unanswered', 'a unanswered', 'a unanswered', 'a renewed', 'a renewed'])
  })

  it('a part of the store that fails does not concern the others', async () => {
    held('a')
    held('b')
    store.answer = (id) => (id === 'a' ? undefined : true)
    await timers.pass(4000)
    expect(events).toEqual(['a unanswered', 'b renewed'])
  })

  it('a slot that the store rejects does not concern the others, and is tried again', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) held(id)
    store.invalidId = 'd'
    await timers.pass(4000)
    expect(events).toEqual(['a renewed', 'b renewed', 'c renewed', 'd unanswered', 'e renewed'])
    store.invalidId = ''
    await timers.pass(1000)
    expect(events.slice(5)).toEqual(['d renewed'])
  })

  it('drops the slots of a closed store', async () => {
    held('a')
    store.error = storeClosed()
    await timers.pass(60_000)
    expect([store.calls.length, events, timers.pending]).toEqual([1, [], 0])
  })
})

describe('deadlines', () => {
  it('a slot that ends at its deadline is lost one ttl after the sending of its last renewal', async () => {
    held('a', { endsAtDeadline: true })
    await timers.pass(4000)
    store.error = storeFailed('timeout', 'late')
    await timers.pass(11_999)
    expect(events.filter((event) => event !== 'a unanswered')).toEqual(['a renewed'])
    await timers.pass(1)
    expect(events.at(-1)).toBe('a deadline')
    await timers.pass(60_000)
    expect(events.at(-1)).toBe('a deadline')
  })

  it('loses it if the store does not respond to the renewal', async () => {
    held('a', { endsAtDeadline: true })
    store.answer = () => new Promise<boolean>(() => {}) as never
    store.renew = () => new Promise(() => {})
    await timers.pass(11_999)
    expect(events).toEqual([])
    await timers.pass(1)
    expect(events).toEqual(['a deadline'])
  })

  it('keeps other slots until the store reports that they are gone', async () => {
    held('a')
    store.error = storeFailed('timeout', 'late')
    await timers.pass(120_000)
    store.error = undefined
    store.answer = () => false
    await timers.pass(1000)
    expect(new Set(events.slice(0, -1))).toEqual(new Set(['a unanswered']))
    expect(events.at(-1)).toBe('a gone')
  })

  it('is past its deadline before the timer of a stopped process has run', () => {
    const slot = held('a', { endsAtDeadline: true })
    const other = held('b')
    timers.work(11_999)
    expect(renewals.isPastDeadline(slot)).toBe(false)
    timers.work(1)
    expect([renewals.isPastDeadline(slot), renewals.isPastDeadline(other)]).toEqual([true, false])
  })
})
