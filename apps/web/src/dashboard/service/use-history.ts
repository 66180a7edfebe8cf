import { useEffect, useState } from 'preact/hooks'
import { history } from './live-source.js'

/** A value of the history, updated after events: at most once per frame, and at most every `minMs`. */
export function useHistory<T>(read: () => T, minMs: number, changes: readonly unknown[]): T {
  const [value, setValue] = useState(read)
  useEffect(() => {
    let frame = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    let drawnMs = Number.NEGATIVE_INFINITY
    const draw = () => {
      frame = 0
      drawnMs = performance.now()
      // The updater form, so that a value that is a function is stored and not called.
      setValue(() => read())
    }
    const soon = () => {
      if (frame !== 0 || timer !== undefined) return
      const waitMs = drawnMs + minMs - performance.now()
      if (waitMs <= 0) frame = requestAnimationFrame(draw)
      else {
        timer = setTimeout(() => {
          timer = undefined
          frame = requestAnimationFrame(draw)
        }, waitMs)
      }
    }
    soon()
    const unsubscribe = history.subscribe(soon)
    return () => {
      unsubscribe()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
    // `read` depends on `changes` only.
  }, changes)
  return value
}
