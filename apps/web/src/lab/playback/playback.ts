/** Time to play the whole axis at speed 1. */
const WHOLE_AXIS_MS = 24_000

export const SPEEDS = [0.25, 0.5, 1, 2, 4] as const

/** The clock of the lab. Components that draw subscribe to its changes. */
export interface Playback {
  timeMs: number
  isPlaying: boolean
  speed: number
  readonly spanMs: number
  play(): void
  pause(): void
  /** Pauses and moves the clock. */
  seek(timeMs: number): void
  setSpeed(speed: number): void
  /** Calls `listener` on every change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
}

export function createPlayback(spanMs: number, startMs: number): Playback {
  const listeners = new Set<() => void>()
  let frame = 0
  let lastFrameMs = 0
  const notify = () => {
    for (const listener of listeners) listener()
  }

  function onFrame(nowMs: number) {
    // With reduced motion, the clock moves in four steps a second.
    const stepMs = prefersReducedMotion() ? 250 : 0
    if (nowMs - lastFrameMs >= stepMs) {
      const passedMs = Math.min(nowMs - lastFrameMs, 300)
      lastFrameMs = nowMs
      playback.timeMs = Math.min(
        spanMs,
        playback.timeMs + (passedMs / WHOLE_AXIS_MS) * spanMs * playback.speed,
      )
      if (playback.timeMs >= spanMs) playback.isPlaying = false
      notify()
    }
    if (playback.isPlaying) frame = requestAnimationFrame(onFrame)
  }

  const playback: Playback = {
    timeMs: Math.min(spanMs, Math.max(0, startMs)),
    isPlaying: false,
    speed: 1,
    spanMs,
    play() {
      if (playback.isPlaying) return
      if (playback.timeMs >= spanMs) playback.timeMs = 0
      playback.isPlaying = true
      lastFrameMs = performance.now()
      frame = requestAnimationFrame(onFrame)
      notify()
    },
    pause() {
      cancelAnimationFrame(frame)
      playback.isPlaying = false
      notify()
    },
    seek(timeMs) {
      cancelAnimationFrame(frame)
      playback.isPlaying = false
      playback.timeMs = Math.min(spanMs, Math.max(0, timeMs))
      notify()
    },
    setSpeed(speed) {
      playback.speed = speed
      notify()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return playback
}

function prefersReducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches
}
