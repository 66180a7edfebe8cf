/** Tracks whether this process is overloaded: from the first sign until a quiet period of 5 s. */
export function createOverloadState(now: () => number, onChange: (isOverloaded: boolean) => void) {
  let lastSignMs = 0
  let isOverloaded = false
  return {
    /** Records a decision without the store because of overload. */
    sign(): void {
      lastSignMs = now()
      if (isOverloaded) return
      isOverloaded = true
      onChange(true)
    },
    /** Records a decision of the store. */
    answered(): void {
      if (!isOverloaded || now() - lastSignMs < QUIET_MS) return
      isOverloaded = false
      onChange(false)
    },
  }
}

/**
 * Tracks whether the store fails some of its calls: from failures in `UNSTABLE_SECONDS` different seconds of a minute until
 * a minute without one. A burst of failures does not count, because outages begin with one.
 */
export function createInstabilityState(
  now: () => number,
  onChange: (isUnstable: boolean, error?: unknown) => void,
) {
  /** When the seconds with failures began, oldest first. */
  let secondsMs: number[] = []
  let lastFailureMs = 0
  let isUnstable = false
  return {
    /** Records a failed call. */
    failed(error: unknown): void {
      lastFailureMs = now()
      if (lastFailureMs - (secondsMs.at(-1) ?? -Infinity) < 1000) return
      secondsMs = [...secondsMs, lastFailureMs].slice(-UNSTABLE_SECONDS)
      const isRecent = lastFailureMs - secondsMs[0]! < STABLE_MS
      if (isUnstable || secondsMs.length < UNSTABLE_SECONDS || !isRecent) return
      isUnstable = true
      onChange(true, error)
    },
    /** Records a decision of the store. */
    answered(): void {
      if (!isUnstable || now() - lastFailureMs < STABLE_MS) return
      isUnstable = false
      onChange(false)
    },
  }
}

/** Tracks whether this process is starved: from a second with timers late by `STARVED_MS` until a quiet period. */
export function createStarvationState(
  now: () => number,
  onChange: (isStarved: boolean, lateMs: number) => void,
) {
  let secondStartMs = 0
  let lateInSecondMs = 0
  let lastStarvedMs = 0
  let isStarved = false
  return {
    /** Records how late a timer fired. */
    fired(lateMs: number): void {
      const nowMs = now()
      if (nowMs - secondStartMs >= 1000) {
        secondStartMs = nowMs - lateMs
        lateInSecondMs = 0
      }
      lateInSecondMs += lateMs
      if (lateInSecondMs >= STARVED_MS) {
        lastStarvedMs = nowMs
        if (isStarved) return
        isStarved = true
        onChange(true, lateInSecondMs)
      } else if (isStarved && nowMs - lastStarvedMs >= QUIET_MS) {
        isStarved = false
        onChange(false, 0)
      }
    },
  }
}

const QUIET_MS = 5000
const STARVED_MS = 500
const UNSTABLE_SECONDS = 10
const STABLE_MS = 60_000
