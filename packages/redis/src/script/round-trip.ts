/**
 * Measures the distance of a server: the shortest recent round trip of calls that were alone in flight. Round trips under
 * load measure the load, not the distance.
 */
export function createRoundTrip() {
  let currentMs = 0
  let previousMs = 0
  let windowEndsMs = 0
  return {
    add(roundTripMs: number, nowMs: number): void {
      if (nowMs >= windowEndsMs) {
        previousMs = windowEndsMs === 0 ? roundTripMs : currentMs
        currentMs = roundTripMs
        windowEndsMs = nowMs + WINDOW_MS
      } else currentMs = Math.min(currentMs, roundTripMs)
    },
    ms: () => Math.min(currentMs, previousMs),
  }
}

const WINDOW_MS = 10_000
