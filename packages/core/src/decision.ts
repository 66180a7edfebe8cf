/**
 * The decision of a check. Times are milliseconds with up to three decimals.
 *
 * A decision made without the store has `degraded`:
 *
 * - `open` and `closed`: nothing was counted. `limit` is the policy's limit; `remaining`, `resetAfterMs` and `delayMs`
 *   are 0; `timeMs` is this process's time. With `closed`, `retryAfterMs` is the time until the store is tried again, at
 *   least one second.
 * - `local`: counted in this process. `limit` is the policy's limit; the other numbers describe this process's share of
 *   it, by this process's clock. A cost above the share is denied until the store is available, as with `closed`.
 */
export interface Decision {
  readonly allowed: boolean
  /** The policy's `limit` or `capacity`. For a token bucket with `lease`, the reduced capacity. */
  readonly limit: number
  /** The number of requested units. */
  readonly cost: number
  /** The largest cost that would be allowed right after this decision: 5 if 3 of 10 were used and the cost is 2. */
  readonly remaining: number
  /** The wait until the same request is allowed, if no others arrive; 0 if it is allowed now. */
  readonly retryAfterMs: number
  /** The wait until the full limit is available again, if no other requests arrive; 0 for an unused key. */
  readonly resetAfterMs: number
  /** Leaky bucket: how long to hold this request so that requests leave at the leak rate. Other algorithms: 0. */
  readonly delayMs: number
  /** The store's time of this decision. */
  readonly timeMs: number
  /** The policy's name. */
  readonly policy: string
  /** The fallback that decided, because the store failed or could not be called in time. Absent in normal operation. */
  readonly degraded?: 'open' | 'closed' | 'local'
  /**
   * The reason, if the decision differs from the policy's own count; absent otherwise.
   *
   * - `overload`: decided without the store because this process is overloaded.
   * - `blocked`: the key is blocked, by `block` or by the policy's `blockFor`.
   * - `override`: an operator's override decided.
   * - `max-open`: the key has too many open reservations.
   * - `slot`: all slots of the concurrency policy are in use.
   */
  readonly reason?: 'overload' | 'blocked' | 'override' | 'max-open' | 'slot'
  /**
   * Decided in this process from units leased from the store: see `withLeases`. `timeMs` is an estimate of the store's
   * time, and `remaining` dates from the lease.
   */
  readonly leased?: true
  /** For a leased decision: the store's time when its units were leased. Refunds need it. */
  readonly leasedAtMs?: number
  /** For `charge`: the number of charged units; 0 if the store was unavailable. */
  readonly charged?: number
  /** For `charge`: the number of units used beyond the limit, rounded up. */
  readonly overBy?: number
  /** For a reservation or a slot: its id. */
  readonly id?: string
  /** For a reservation: the number of reserved units. */
  readonly reserved?: number
  /** For a reservation: the id was reserved before, and this is the first decision again. */
  readonly repeated?: true
}
