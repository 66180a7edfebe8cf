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

/** Tracks whether the store fails some of its calls: from `UNSTABLE_FAILURES` within a minute until a minute without one. */
export function createInstabilityState(
  now: () => number,
  onChange: (isUnstable: boolean, error?: unknown) => void,
) {
  /** Of the last failures, oldest first. */
  let timesMs: number[] = []
  let lastError: unknown
  let isUnstable = false
  return {
    /** Records a failed call. Calls that fail at the same time share an error, and count as one. */
    failed(error: unknown): void {
      const nowMs = now()
      if (error === lastError && timesMs.at(-1) === nowMs) return
      lastError = error
      timesMs = [...timesMs, nowMs].slice(-UNSTABLE_FAILURES)
      if (isUnstable || timesMs.length < UNSTABLE_FAILURES || nowMs - timesMs[0]! >= STABLE_MS) return
      isUnstable = true
      onChange(true, error)
    },
    /** Records a decision of the store. */
    answered(): void {
      if (!isUnstable || now() - timesMs.at(-1)! < STABLE_MS) return
      isUnstable = false
      timesMs = []
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
const UNSTABLE_FAILURES = 10
const STABLE_MS = 60_000
