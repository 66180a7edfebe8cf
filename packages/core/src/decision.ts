/**
 * The decision of a check. Times are milliseconds with up to three decimals: whole microseconds ÷ 1,000.
 *
 * A decision that was made without the store has `degraded`, and no invented numbers:
 *
 * - `open` and `closed` counted nothing. `limit` is the policy's, `remaining`, `resetAfterMs` and `delayMs` are
 *   0, `timeMs` is this process's time. With `closed`, `retryAfterMs` is the time until the store is tried again, at
 *   least one second.
 * - `local` was counted in this process. `limit` is the policy's; the other numbers are those of this process's share
 *   of it, by its own clock. A cost above the share waits for the store, as with `closed`.
 */
export interface Decision {
  readonly allowed: boolean
  /** The policy's `limit` or `capacity`. For a token bucket with `lease`, the smaller capacity that it counts with. */
  readonly limit: number
  /** The number of requested units. */
  readonly cost: number
  /**
   * The largest whole cost that would be allowed at this moment, after this decision. If 3 of 10 are used, an allowed
   * cost of 2 leaves 5.
   */
  readonly remaining: number
  /** 0 if allowed; else the shortest wait after which the same request is allowed, if no others arrive. */
  readonly retryAfterMs: number
  /** The wait until the full limit is available again, if no other requests arrive; 0 for an unused key. */
  readonly resetAfterMs: number
  /** Leaky bucket: how long to hold this request so that requests leave at the leak rate. Else 0. */
  readonly delayMs: number
  /** The store's time of this decision. */
  readonly timeMs: number
  /** The policy's name. */
  readonly policy: string
  /** How it was decided without the store, which failed or could not be called in time. Absent in normal operation. */
  readonly degraded?: 'open' | 'closed' | 'local'
  /**
   * Why it was decided differently from the policy's own count; absent otherwise.
   *
   * - `overload`: decided without the store because this process has too much to do.
   * - `blocked`: the key is blocked, by `block` or by the policy's `blockFor`.
   * - `override`: an override of the operator decided.
   * - `max-open`: the key has too many open reservations.
   * - `slot`: every slot of a concurrency policy is taken.
   */
  readonly reason?: 'overload' | 'blocked' | 'override' | 'max-open' | 'slot'
  /**
   * Decided in this process from units that it leased from the store: see `withLeases`. `timeMs` is the store's time as
   * estimated here, and `remaining` was up to date when the units were leased.
   */
  readonly leased?: true
  /** For a leased decision: the store's time when its units were leased. A refund passes it on. */
  readonly leasedAtMs?: number
  /** For `charge`: how many units were charged; 0 if the store was unavailable. */
  readonly charged?: number
  /** For `charge`: how many units are used beyond the limit, rounded up to whole units. */
  readonly overBy?: number
  /** For a reservation or a slot: its id. */
  readonly id?: string
  /** For a reservation: how many units it reserved. */
  readonly reserved?: number
  /** For a reservation: the same id was reserved before, and this is the first decision. */
  readonly repeated?: true
}
