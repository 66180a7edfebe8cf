const MINUTE_MS = 60_000

/** Returns a function that is true for a reason at most once a minute. The number of reasons must be bounded. */
export function onceAMinute<Reason extends string>(): (reason: Reason) => boolean {
  const loggedMs = new Map<Reason, number>()
  return (reason) => {
    const nowMs = performance.now()
    if (nowMs - (loggedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < MINUTE_MS) return false
    loggedMs.set(reason, nowMs)
    return true
  }
}
