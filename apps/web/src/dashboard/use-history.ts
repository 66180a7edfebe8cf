import { useEffect, useState } from 'preact/hooks'
import { history } from './live-source.js'

/**
 * What `read` finds in the history, read again after events: in the next frame, however many events came until then,
 * and not more often than every `minMs`.
 */
export function useHistory<T>(read: () => T, minMs: number, changes: readonly unknown[]): T {
  const [value, setValue] = useState(read)
  useEffect(() => {
    let frame = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    let drawnMs = Number.NEGATIVE_INFINITY
    const draw = () => {
      frame = 0
      drawnMs = performance.now()
      // A function, lest a function that was read be called.
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
    // What is read depends on these alone
  }, changes)
  return value
}
