/** How long it takes to play the whole axis, at speed 1. */
const WHOLE_AXIS_MS = 24_000

export const SPEEDS = [0.25, 0.5, 1, 2, 4] as const

/** The clock that the visitor holds. Those who draw subscribe; a frame costs what they do with it. */
export interface Playback {
  timeMs: number
  isPlaying: boolean
  speed: number
  readonly spanMs: number
  play(): void
  pause(): void
  /** Stops and goes there. */
  seek(timeMs: number): void
  setSpeed(speed: number): void
  /** Called at every change, until the returned function is. */
  subscribe(listener: () => void): () => void
}

export function createPlayback(spanMs: number, startMs: number): Playback {
  const listeners = new Set<() => void>()
  let frame = 0
  let lastFrameMs = 0
  const tell = () => {
    for (const listener of listeners) listener()
  }

  function onFrame(nowMs: number) {
    // Who asked for less motion gets four steps a second.
    const stepMs = prefersLessMotion() ? 250 : 0
    if (nowMs - lastFrameMs >= stepMs) {
      const passedMs = Math.min(nowMs - lastFrameMs, 300)
      lastFrameMs = nowMs
      playback.timeMs = Math.min(
        spanMs,
        playback.timeMs + (passedMs / WHOLE_AXIS_MS) * spanMs * playback.speed,
      )
      if (playback.timeMs >= spanMs) playback.isPlaying = false
      tell()
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
      tell()
    },
    pause() {
      cancelAnimationFrame(frame)
      playback.isPlaying = false
      tell()
    },
    seek(timeMs) {
      cancelAnimationFrame(frame)
      playback.isPlaying = false
      playback.timeMs = Math.min(spanMs, Math.max(0, timeMs))
      tell()
    },
    setSpeed(speed) {
      playback.speed = speed
      tell()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return playback
}

function prefersLessMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches
}
