import { useEffect, useReducer } from 'preact/hooks'
import type { Playback } from './playback.js'

/** The current time. Renders the component again whenever the clock moves. */
export function useTime(playback: Playback): number {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => playback.subscribe(() => redraw(undefined)), [playback])
  return playback.timeMs
}
