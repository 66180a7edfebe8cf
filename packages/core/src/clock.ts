/** The source of a store's time. */
export interface Clock {
  /** Whole microseconds since the Unix epoch. The clock can step back: see `docs/users/algorithms.md`, "Clocks". */
  nowUs(): number
}

/**
 * The machine's wall clock, in milliseconds. `performance.now()` is finer, but drifts from the wall clock while a machine
 * sleeps, and windows are aligned to the wall clock.
 */
export const systemClock: Clock = { nowUs: () => Date.now() * 1000 }

/**
 * A clock that changes only with `advance` and `set`, for tests and simulations.
 *
 * @example
 * ```ts
 * const clock = new ManualClock(Date.UTC(2027, 0, 1))
 * const store = new MemoryStore({ clock })
 * clock.advance(60_000)
 * ```
 */
export class ManualClock implements Clock {
  #us: number

  constructor(startMs = 0) {
    this.#us = msToUs(startMs)
  }

  nowUs(): number {
    return this.#us
  }

  /** Milliseconds since the Unix epoch. */
  nowMs(): number {
    return usToMs(this.#us)
  }

  /** Advances the clock by `ms` milliseconds; a negative number steps back. */
  advance(ms: number): void {
    this.#us += msToUs(ms)
  }

  /** Sets the clock to `ms` milliseconds since the Unix epoch. */
  set(ms: number): void {
    this.#us = msToUs(ms)
  }
}

/** Converts milliseconds with up to three decimals to whole microseconds: the exact inverse of `usToMs`. */
export function msToUs(ms: number): number {
  return Math.round(ms * 1000)
}

export function usToMs(us: number): number {
  return us / 1000
}
