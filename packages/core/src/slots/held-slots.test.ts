import { beforeEach, describe, expect, it } from 'vitest'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import type { TidegateError } from '../errors.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import { concurrency, type OnStoreFailure } from '../policy/index.js'
import type { SlotRequest } from '../store/full-store.js'
import { storeFailed } from '../store/store-error.js'
import { type HeldSlots, holdSlots } from './held-slots.js'
import { createRenewals, type Renewals } from './renewals.js'

let timers: ManualTimers
let renewals: Renewals
let clock: ManualClock
let memory: MemoryStore
let isDown: boolean
let released: string[]
let marks: Decision['degraded'][]

beforeEach(() => {
  timers = new ManualTimers()
  renewals = createRenewals(timers)
  clock = new ManualClock(1_800_000_000_000)
  memory = new MemoryStore({ clock })
  isDown = false
  released = []
  marks = []
})

const store = {
  async renew(slots: readonly SlotRequest[]) {
    if (isDown) throw storeFailed('unreachable', 'down')
    return memory.renew(slots)
  },
  async release(slots: readonly SlotRequest[]) {
    released.push(...slots.map(({ id }) => id))
    if (isDown) throw storeFailed('unreachable', 'down')
    return memory.release(slots)
  },
}

function policyOf(onStoreFailure: OnStoreFailure = 'open') {
  return concurrency({ limit: 2, ttl: '12s', name: 'jobs', onStoreFailure })
}

function hold(
  ids: readonly string[],
  { policy = policyOf(), degraded = undefined as 'local' | undefined } = {},
) {
  const sentMs = timers.now()
  if (degraded === undefined) for (const id of ids) memory.check({ policy, key: 'k', cost: 1, id })
  const slots = ids.map((id) => ({
    request: { policy, key: 'k', id, degraded },
    ttlMs: policy.ttl,
    onDegraded: (mode: Decision['degraded']) => marks.push(mode),
  }))
  return holdSlots(slots, { store, renewals, sentMs })
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    clock.advance(500)
    await timers.pass(500)
  }
}

const reasonOf = ({ signal }: HeldSlots) => (signal.reason as TidegateError | undefined)?.code
const free = () => memory.peek({ policy: policyOf(), key: 'k', cost: 1 }).remaining

describe('a held slot', () => {
  it('is renewed for as long as it is held', async () => {
    const held = hold(['a'])
    await pass(60_000)
    expect([free(), held.signal.aborted]).toEqual([1, false])
    expect(await held.release()).toBe(true)
    expect(free()).toBe(2)
    await pass(60_000)
    expect(timers.pending).toBe(0)
  })

  it('is released once, also if release is called repeatedly', async () => {
    const held = hold(['a'])
    expect(await Promise.all([held.release(), held.release()])).toEqual([true, true])
    await held[Symbol.asyncDispose]()
    expect(released).toEqual(['a'])
  })

  it('sends the release immediately', () => {
    const held = hold(['a'])
    void held.release()
    expect(free()).toBe(2)
  })

  it('that was reset aborts the signal at its next renewal, and is not released again', async () => {
    const held = hold(['a'])
    const { signal } = held
    memory.reset({ policy: policyOf(), key: 'k' })
    await pass(4000)
    expect([signal.aborted, reasonOf(held)]).toEqual([true, 'SLOT_LOST'])
    expect(await held.release()).toBe(false)
    expect(released).toEqual([])
  })

  it('aborts a signal that is first read after the loss', async () => {
    const held = hold(['a'])
    memory.reset({ policy: policyOf(), key: 'k' })
    await pass(4000)
    expect(held.signal.aborted).toBe(true)
  })

  it('rejects a release that the store fails, and can be released again', async () => {
    const held = hold(['a'])
    isDown = true
    await expect(held.release()).rejects.toMatchObject({ code: 'STORE_FAILED' })
    isDown = false
    expect(await held.release()).toBe(true)
    expect(free()).toBe(2)
  })

  it('does not throw at the end of an await using block if the store fails', async () => {
    const held = hold(['a'])
    isDown = true
    await expect(held[Symbol.asyncDispose]()).resolves.toBeUndefined()
  })
})

describe('an unavailable store', () => {
  it.each(['open', 'local'] as const)(
    '%s: work continues, and the slot is marked',
    async (onStoreFailure) => {
      const held = hold(['a'], { policy: policyOf(onStoreFailure) })
      isDown = true
      await pass(60_000)
      expect([held.signal.aborted, marks.at(-1)]).toEqual([false, onStoreFailure])
    },
  )

  it('is marked until the store has renewed the slot', async () => {
    hold(['a'])
    isDown = true
    await pass(6000)
    expect(marks.at(-1)).toBe('open')
    isDown = false
    await pass(1000)
    expect(marks.at(-1)).toBeUndefined()
    expect(free()).toBe(1)
  })

  it('aborts once the store is available and reports that the slot is gone', async () => {
    const held = hold(['a'])
    isDown = true
    await pass(20_000)
    expect(held.signal.aborted).toBe(false)
    isDown = false
    await pass(1000)
    expect([held.signal.aborted, reasonOf(held)]).toEqual([true, 'SLOT_LOST'])
  })

  it('closed: aborts at the deadline, one ttl after the last renewal was sent', async () => {
    const held = hold(['a'], { policy: policyOf('closed') })
    const { signal } = held
    await pass(4000)
    isDown = true
    await pass(11_500)
    expect(signal.aborted).toBe(false)
    await pass(500)
    expect([signal.aborted, reasonOf(held)]).toEqual([true, 'SLOT_LOST'])
    // Not marked: a closed limiter does not continue without its store.
    expect(marks).toEqual(marks.map(() => undefined))
  })

  it('closed: a process that was stopped finds its slot lost before its timers have run', () => {
    const held = hold(['a'], { policy: policyOf('closed') })
    expect(held.signal.aborted).toBe(false)
    timers.work(12_000)
    expect([held.signal.aborted, reasonOf(held)]).toEqual([true, 'SLOT_LOST'])
  })

  it('closed: a slot that was released is not lost', async () => {
    const held = hold(['a'], { policy: policyOf('closed') })
    await held.release()
    timers.work(12_000)
    expect(held.signal.aborted).toBe(false)
  })

  it('a slot that was counted in this process is not lost when its count is dropped', async () => {
    const held = hold(['a'], { degraded: 'local' })
    await pass(4000)
    expect(held.signal.aborted).toBe(false)
  })
})

describe('several slots', () => {
  it('are lost if one of them is', async () => {
    const held = hold(['a', 'b'])
    memory.release([{ policy: policyOf(), key: 'k', id: 'a' }])
    await pass(4000)
    expect(held.signal.aborted).toBe(true)
    expect(await held.release()).toBe(false)
    expect(released).toEqual(['b'])
    expect(free()).toBe(2)
  })

  it('are not held if there are none', async () => {
    const held = hold([])
    expect([await held.release(), held.signal.aborted, timers.created]).toEqual([false, false, 0])
  })
})
