/** Where a store's time comes from. */
export interface Clock {
  /** Whole microseconds since the Unix epoch. It may step back: see `docs/users/algorithms.md`, "Clocks". */
  nowUs(): number
}

/**
 * The machine's wall clock. It ticks in milliseconds: a finer one (`performance.now()`) drifts away from
 * the wall clock while a machine sleeps, and windows are aligned to the wall clock.
 */
export const systemClock: Clock = { nowUs: () => Date.now() * 1000 }

/** A clock that moves only by `advance` and `set`, for tests and simulations. */
export class ManualClock implements Clock {
  #us: number

  constructor(startMs = 0) {
    this.#us = msToUs(startMs)
  }

  nowUs(): number {
    return this.#us
  }

  nowMs(): number {
    return usToMs(this.#us)
  }

  /** Moves by `ms`; a negative number steps back. */
  advance(ms: number): void {
    this.#us += msToUs(ms)
  }

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
