import { useEffect, useReducer } from 'preact/hooks'
import type { Playback } from './playback.js'

/** Draws the component again whenever the clock moves; the time it shows. */
export function useTime(playback: Playback): number {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => playback.subscribe(() => redraw(undefined)), [playback])
  return playback.timeMs
}
