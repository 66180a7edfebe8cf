import { type Clock, usToMs } from '../clock.js'
import type { Decision } from '../decision.js'
import { MemoryStore } from '../memory-store/memory-store.js'
import type { Limit } from '../store/requests.js'
import type { RefundRequest, ResetRequest, TakeRequest } from '../store/store.js'
import { shareOf } from './share.js'

/** Counts requests in this process, against its share of each limit, while the store cannot count them. */
export interface LocalCounts {
  check(request: TakeRequest): Decision
  peek(request: TakeRequest): Decision
  /** Takes from all of these limits or from none. */
  take(limits: readonly Limit[]): { allowed: boolean; decisions: Decision[] }
  refund(request: RefundRequest): number
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
 * Counts start empty with each outage and are not carried over to the store. An outage within 10 s of another continues
 * with its counts: a store that comes and goes must not give every client a new share each time.
 */
export function createLocalCounts({ clock, now, waitMs }: LocalCountsOptions): LocalCounts {
  let counts: MemoryStore | undefined
  let sinceMs = 0
  let upSinceMs: number | undefined

  /** Drops the counts of an outage that is over. */
  function forgetOld(): void {
    if (upSinceMs === undefined || now() - upSinceMs < SAME_OUTAGE_MS) return
    counts = undefined
    upSinceMs = undefined
  }

  function current(): MemoryStore {
    forgetOld()
    if (counts === undefined) {
      counts = new MemoryStore({ clock, maxKeys: MAX_KEYS })
      sinceMs = usToMs(clock.nowUs())
    }
    return counts
  }

  /** A cost above the share: it has to wait for the store. */
  function tooDear({ policy, key, cost }: TakeRequest): Decision {
    const look = current().peek({ policy: shareOf(policy), key, cost: 1 })
    return { ...asLocal(look, policy.limit), cost, allowed: false, retryAfterMs: waitMs(), delayMs: 0 }
  }

  function peek(request: TakeRequest): Decision {
    const policy = shareOf(request.policy)
    if (request.cost > policy.limit) return tooDear(request)
    return asLocal(current().peek({ ...request, policy }), request.policy.limit)
  }

  return {
    peek,

    check(request) {
      const policy = shareOf(request.policy)
      if (request.cost > policy.limit) return tooDear(request)
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

    refund(request) {
      forgetOld()
      // Units of earlier outages are no longer counted here.
      if (counts === undefined || request.timeMs < sinceMs) return 0
      return counts.refund({ ...request, policy: shareOf(request.policy) })
    },

    reset(request) {
      counts?.reset({ ...request, policy: shareOf(request.policy) })
    },

    outageBegan() {
      forgetOld()
      upSinceMs = undefined
    },

    outageEnded() {
      upSinceMs = now()
    },
  }
}

const MAX_KEYS = 100_000
const SAME_OUTAGE_MS = 10_000

function asLocal(decision: Decision, limit: number): Decision {
  return { ...decision, limit, degraded: 'local' }
}
