/// <reference lib="esnext.disposable" preserve="true" />
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import type { ConcurrencyPolicy } from '../policy/index.js'
import type { FullStore, SlotRequest } from '../store/full-store.js'
import { type AbortSignal, createAbort } from './lazy-abort.js'
import type { HeldSlot, LossReason, Renewals } from './renewals.js'

/** Held slots, which are renewed until they are released or lost. */
export interface HeldSlots {
  /**
   * Aborts with `SLOT_LOST` when the store no longer has a slot. With `onStoreFailure: 'closed'` also when a slot could not
   * be renewed within its ttl.
   */
  readonly signal: AbortSignal
  /**
   * Releases the slots. Resolves to whether all of them were still held. Rejects with `STORE_FAILED` if the store fails; the
   * slots then expire after their ttl.
   */
  release(): Promise<boolean>
  /** Releases the slots at the end of an `await using` block. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>
}

/** One slot to hold. */
export interface AcquiredSlot {
  readonly request: SlotRequest
  /** How long the store keeps it without a renewal. */
  readonly ttlMs: number
  /** Called with the policy's `onStoreFailure` when a renewal fails, and with undefined when one succeeds again. */
  readonly onDegraded: (mode: Decision['degraded']) => void
}

export interface HoldOptions {
  store: Pick<FullStore, 'release' | 'renew'>
  renewals: Renewals
  /** When the acquiring call was sent, by the clock of the renewals. */
  sentMs: number
}

/** Starts renewing acquired slots. */
export function holdSlots(slots: readonly AcquiredSlot[], options: HoldOptions): HeldSlots {
  const { store, renewals, sentMs } = options
  const abort = createAbort()
  const gone = new Set<SlotRequest>()
  let releasing: Promise<boolean> | undefined

  function lose(request: SlotRequest, reason: LossReason): void {
    if (reason === 'gone') gone.add(request)
    // A slot that was counted in this process ends with the outage, without an abort of the work.
    if (request.degraded === undefined) abort.abort(slotLost(request, reason))
  }

  const held = slots.map(({ request, ttlMs, onDegraded }): HeldSlot => {
    const { onStoreFailure } = request.policy
    const endsAtDeadline = onStoreFailure === 'closed' && request.degraded === undefined
    return {
      store,
      request,
      ttlMs,
      endsAtDeadline,
      confirmedMs: sentMs,
      onRenewed: () => onDegraded(request.degraded),
      onUnanswered: () => onDegraded(endsAtDeadline ? undefined : onStoreFailure),
      onLost: (reason) => lose(request, reason),
    }
  })
  for (const slot of held) renewals.add(slot)

  async function releaseAll(): Promise<boolean> {
    for (const slot of held) renewals.remove(slot)
    const left = slots.map(({ request }) => request).filter((request) => !gone.has(request))
    const released = left.length === 0 ? [] : await store.release(left)
    return released.length > 0 && gone.size === 0 && released.every(Boolean)
  }

  function release(): Promise<boolean> {
    releasing ??= releaseAll().catch((error) => {
      // Lets the caller retry.
      releasing = undefined
      throw error
    })
    return releasing
  }

  return {
    get signal() {
      // After a pause of the process, timers are late, so a slot may have expired before they run.
      for (const slot of releasing === undefined ? held : []) {
        if (renewals.isPastDeadline(slot)) lose(slot.request, 'deadline')
      }
      return abort.signal()
    },
    release,
    async [Symbol.asyncDispose]() {
      await release().catch(() => {})
    },
  }
}

function slotLost({ policy }: SlotRequest, reason: LossReason): TidegateError {
  const { name, ttl } = policy as ConcurrencyPolicy
  const message =
    reason === 'gone'
      ? `The slot of "${name}" was lost: it was not renewed within ${ttl} ms, or its key was reset.`
      : `The slot of "${name}" was lost: it was not renewed within ${ttl} ms, because the store is unavailable.`
  return new TidegateError('SLOT_LOST', message)
}
