import { type Clock, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import type { Reserve, ReserveLimit, SettleLimit } from '../reservations/parse-reservation.js'
import type { SettleResult, SlotRequest } from '../store/full-store.js'
import type { Limit } from '../store/requests.js'
import type { RefundRequest, ResetRequest, TakeRequest } from '../store/store.js'
import { shareOf } from './share.js'

/** Counts requests in this process, against its share of each limit, while the store is unavailable. */
export interface LocalCounts {
  check(request: TakeRequest): Decision
  peek(request: TakeRequest): Decision
  /** Takes from every limit or from none. */
  take(limits: readonly Limit[]): { allowed: boolean; decisions: Decision[] }
  charge(request: TakeRequest): Decision
  /** Reserves units of every limit or of none. */
  reserve(limits: readonly ReserveLimit[], request: Reserve): { allowed: boolean; decisions: Decision[] }
  /** Settles a reservation of this process. Returns undefined if there is none with this id. */
  settle(limit: SettleLimit, id: string): SettleResult | undefined
  refund(request: RefundRequest): number
  release(slot: SlotRequest): boolean
  renew(slot: SlotRequest): boolean
  reset(request: ResetRequest): void
  outageBegan(): void
  outageEnded(): void
}

export interface LocalCountsOptions {
  clock: Clock
  /** Milliseconds of a clock that never steps back. */
  now: () => number
  /** How long until the store is tried again. */
  waitMs: () => number
}

/**
 * Counts start at zero with each outage, and are not carried over to the store. An outage within 10 s of another continues
 * its counts, so that an unstable store does not give every client a new share each time.
 */
export function createLocalCounts({ clock, now, waitMs }: LocalCountsOptions): LocalCounts {
  let counts: MemoryStore | undefined
  let sinceMs = 0
  /** The ids of reservations of this process. Other ids belong to the store. */
  const reservedIds = new Set<string>()
  let upSinceMs: number | undefined

  /** Drops the counts of an outage that is over. */
  function dropOld(): void {
    if (upSinceMs === undefined || now() - upSinceMs < SAME_OUTAGE_MS) return
    counts = undefined
    upSinceMs = undefined
  }

  function current(): MemoryStore {
    dropOld()
    if (counts === undefined) {
      counts = new MemoryStore({ clock, maxKeys: MAX_KEYS })
      sinceMs = usToMs(clock.nowUs())
      reservedIds.clear()
    }
    return counts
  }

  /** The denial of a cost above the share, which must wait for the store. */
  function denialAboveShare(request: TakeRequest): Decision {
    const { policy, key, cost } = request
    const peek = current().peek({ policy: shareOf(request.policy), key, cost: 1 })
    return { ...asLocal(peek, policy.limit), cost, allowed: false, retryAfterMs: waitMs(), delayMs: 0 }
  }

  function peek(request: TakeRequest): Decision {
    const policy = shareOf(request.policy)
    if (request.cost > policy.limit) return denialAboveShare(request)
    return asLocal(current().peek({ ...request, policy }), request.policy.limit)
  }

  function addReserved(limit: ReserveLimit, id: string): void {
    reservedIds.add(nameOf(limit, id))
    if (reservedIds.size <= MAX_KEYS) return
    for (const oldest of reservedIds) {
      reservedIds.delete(oldest)
      break
    }
  }

  return {
    peek,

    check(request) {
      const policy = shareOf(request.policy)
      if (request.cost > policy.limit) return denialAboveShare(request)
      return asLocal(current().check({ ...request, policy }), request.policy.limit)
    },

    take(limits) {
      const shares = limits.map((limit) => ({ ...limit, policy: shareOf(limit.policy) }))
      if (shares.some(({ policy, cost }) => cost > policy.limit)) {
        return { allowed: false, decisions: limits.map(peek) }
      }
      const { allowed, decisions } = current().take(shares)
      return {
        allowed,
        decisions: decisions.map((decision, i) => asLocal(decision, limits[i]!.policy.limit)),
      }
    },

    charge(request) {
      return asLocal(current().charge({ ...request, policy: shareOf(request.policy) }), request.policy.limit)
    },

    reserve(limits, { id, ttlMs, maxOpen }) {
      const shares = limits.map((limit) => ({ ...limit, policy: shareOf(limit.policy) }))
      if (shares.some(({ policy, cost }) => cost > policy.limit)) {
        return { allowed: false, decisions: limits.map(peek) }
      }
      const requests = shares.map(({ policy, key, units }) => ({ policy, key, cost: units }))
      const { allowed, decisions } = current().reserve(requests, { id, ttl: ttlMs, maxOpen })
      if (allowed) for (const limit of limits) addReserved(limit, id)
      return {
        allowed,
        decisions: decisions.map((decision, i) => asLocal(decision!, limits[i]!.policy.limit)),
      }
    },

    settle({ policy, key, actual }, id) {
      dropOld()
      if (counts === undefined || !reservedIds.delete(nameOf({ policy, key }, id))) return undefined
      return counts.settle([{ policy: shareOf(policy), key }], id, [actual])[0]
    },

    refund(request) {
      dropOld()
      // Units of earlier outages are no longer counted.
      if (counts === undefined || request.timeMs < sinceMs) return 0
      return counts.refund({ ...request, policy: shareOf(request.policy) })
    },

    release(slot) {
      dropOld()
      return counts?.release([{ ...slot, policy: shareOf(slot.policy) }])[0] ?? false
    },

    renew(slot) {
      dropOld()
      return counts?.renew([{ ...slot, policy: shareOf(slot.policy) }])[0] ?? false
    },

    reset(request) {
      counts?.reset({ ...request, policy: shareOf(request.policy) })
    },

    outageBegan() {
      dropOld()
      upSinceMs = undefined
    },

    outageEnded() {
      upSinceMs = now()
    },
  }
}

const MAX_KEYS = 100_000
const SAME_OUTAGE_MS = 10_000

function nameOf({ policy, key }: ResetRequest, id: string): string {
  // Names and ids have no spaces.
  return `${policy.name} ${id} ${key}`
}

function asLocal(decision: Decision, limit: number): Decision {
  return { ...decision, limit, degraded: 'local' }
}
