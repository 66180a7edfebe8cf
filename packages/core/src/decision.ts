/**
 * The answer to a check. Times are milliseconds with up to three decimals: whole microseconds ÷ 1,000.
 *
 * An answer that was given without the store says so in `degraded`, and invents no numbers:
 *
 * - `open` and `closed` counted nothing. `limit` is the policy's, `remaining`, `resetAfterMs` and `delayMs` are
 *   0, `timeMs` is this process's time. `closed` says in `retryAfterMs` when it is worth asking again, from one
 *   second up.
 * - `local` was counted in this process. `limit` is the policy's; all else is true of this process's share of it
 *   and of its own clock. A cost above the share waits for the store, as with `closed`.
 */
export interface Decision {
  readonly allowed: boolean
  /** The policy's `limit` or `capacity`. */
  readonly limit: number
  /** How many units were asked for. */
  readonly cost: number
  /**
   * The largest whole cost that would be allowed at this very moment, after this decision. With a limit of
   * 10 of which 3 are used, an allowed cost of 2 leaves 5.
   */
  readonly remaining: number
  /** 0 if allowed; else the smallest wait after which this same request would be allowed if nobody else came. */
  readonly retryAfterMs: number
  /** The wait until the full limit is available again if nobody else came; 0 for an untouched key. */
  readonly resetAfterMs: number
  /** Leaky bucket: how long to hold this request so that requests leave at the leak rate. Else 0. */
  readonly delayMs: number
  /** The store's time of this decision. */
  readonly timeMs: number
  /** The policy's name. */
  readonly policy: string
  /** How it was decided without the store, which failed or could not be called in time. Absent in normal operation. */
  readonly degraded?: 'open' | 'closed' | 'local'
  /** `overload`: decided without the store because this process has too much to do. Absent in normal operation. */
  readonly reason?: 'overload'
}
