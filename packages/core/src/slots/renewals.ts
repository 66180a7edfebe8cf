import { sharedByCopies } from '../copies.js'
import type { SlotRequest } from '../store/full-store.js'
import type { MaybePromise } from '../store/store.js'
import { isClosed, isStoreFailure } from '../store/store-error.js'
import { createAlarm, platformTimers, type Timers } from '../timers.js'

/** A store that can renew slots. Results: true if a slot was renewed, false if it is gone, undefined if unknown. */
export interface RenewingStore {
  renew(slots: readonly SlotRequest[]): MaybePromise<(boolean | undefined)[]>
}

/** A slot that this process holds. */
export interface HeldSlot {
  readonly store: RenewingStore
  readonly request: SlotRequest
  readonly ttlMs: number
  /** Whether the slot is lost if it was not renewed for `ttlMs`, even if the store has not reported the loss. */
  readonly endsAtDeadline: boolean
  /** When the call that last acquired or renewed the slot was sent, by a monotonic clock. */
  confirmedMs: number
  onRenewed(): void
  onUnanswered(): void
  /** Called after the slot was removed from the renewals. */
  onLost(reason: LossReason): void
}

/** `gone`: the store no longer has the slot. `deadline`: it could not be renewed in time. */
export type LossReason = 'gone' | 'deadline'

export interface Renewals {
  /** Milliseconds of a clock that never steps back. */
  now(): number
  add(slot: HeldSlot): void
  remove(slot: HeldSlot): void
  /** Whether a held slot is lost by now, even if the timer is late. */
  isPastDeadline(slot: HeldSlot): boolean
}

/** When and whether a slot is being renewed. */
interface Schedule {
  dueMs: number
  isSending: boolean
}

/**
 * Renews all slots of this process on one timer, each a third of its ttl after its last renewal. Slots that are due soon
 * are renewed together with due slots, so that after a while one call per store renews all of them.
 *
 * The timer does not keep the process alive, and stops when no slot is held.
 */
export function createRenewals(timers: Timers): Renewals {
  const schedules = new Map<HeldSlot, Schedule>()
  const alarm = createAlarm(timers, renewDue)

  function renewDue(): void {
    const nowMs = timers.now()
    const dueByStore = new Map<RenewingStore, HeldSlot[]>()
    for (const [slot, schedule] of schedules) {
      if (isPastDeadline(slot)) {
        lose(slot, 'deadline')
        continue
      }
      if (!schedule.isSending && schedule.dueMs - slot.ttlMs * EARLY <= nowMs) {
        const due = dueByStore.get(slot.store)
        if (due === undefined) dueByStore.set(slot.store, [slot])
        else due.push(slot)
      }
    }
    for (const [store, due] of dueByStore) void renewAll(store, due)
    wakeForNext()
  }

  function wakeForNext(): void {
    let nextMs = Number.POSITIVE_INFINITY
    for (const [slot, { dueMs, isSending }] of schedules) {
      if (!isSending) nextMs = Math.min(nextMs, dueMs)
      if (slot.endsAtDeadline) nextMs = Math.min(nextMs, slot.confirmedMs + slot.ttlMs)
    }
    alarm.setBy(nextMs)
  }

  /** Sends one call after the other, so that thousands of slots do not delay checks. */
  async function renewAll(store: RenewingStore, due: readonly HeldSlot[]): Promise<void> {
    for (const slot of due) schedules.get(slot)!.isSending = true
    for (let i = 0; i < due.length; i += MAX_PER_CALL) {
      await renewSome(
        store,
        due.slice(i, i + MAX_PER_CALL).filter((slot) => schedules.has(slot)),
      )
    }
    wakeForNext()
  }

  async function renewSome(store: RenewingStore, slots: readonly HeldSlot[]): Promise<void> {
    if (slots.length === 0) return
    const sentMs = timers.now()
    let results: readonly (boolean | undefined)[]
    try {
      results = await store.renew(slots.map(({ request }) => request))
    } catch (error) {
      // A closed store no longer renews slots. After any other error the renewal is retried.
      if (isClosed(error)) for (const slot of slots) schedules.delete(slot)
      else if (!isStoreFailure(error) && slots.length > 1) {
        // One slot is invalid by now, for example of a policy that a service no longer has. The others are not.
        const middle = Math.ceil(slots.length / 2)
        await renewSome(store, slots.slice(0, middle))
        await renewSome(store, slots.slice(middle))
        return
      }
      results = []
    }
    for (const [i, slot] of slots.entries()) {
      const schedule = schedules.get(slot)
      // Released or lost in the meantime.
      if (schedule === undefined) continue
      schedule.isSending = false
      if (results[i] === true) {
        slot.confirmedMs = sentMs
        schedule.dueMs = sentMs + slot.ttlMs * PERIOD
        slot.onRenewed()
      } else if (results[i] === false) lose(slot, 'gone')
      else {
        schedule.dueMs = timers.now() + slot.ttlMs * RETRY
        slot.onUnanswered()
      }
    }
  }

  function lose(slot: HeldSlot, reason: LossReason): void {
    schedules.delete(slot)
    slot.onLost(reason)
  }

  function isPastDeadline({ endsAtDeadline, confirmedMs, ttlMs }: HeldSlot): boolean {
    return endsAtDeadline && timers.now() >= confirmedMs + ttlMs
  }

  return {
    now: timers.now,
    add(slot) {
      const dueMs = slot.confirmedMs + slot.ttlMs * PERIOD
      schedules.set(slot, { dueMs, isSending: false })
      alarm.setBy(dueMs)
    },
    remove(slot) {
      // The timer keeps running: restarting it for every short request would cost more than one idle run.
      schedules.delete(slot)
    },
    isPastDeadline,
  }
}

/** The renewals of this process. */
export const renewals = sharedByCopies('slot renewals', () => createRenewals(platformTimers))

/** Fractions of the ttl: between renewals, how early a slot can be renewed with others, and before a retry. */
const PERIOD = 1 / 3
const EARLY = 1 / 6
const RETRY = 1 / 12
const MAX_PER_CALL = 500
