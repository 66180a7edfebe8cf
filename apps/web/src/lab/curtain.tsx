import { useEffect, useRef } from 'preact/hooks'
import type { Playback } from './playback.js'

/** Lies over a plot that fills its parent: a line at the moment, and a veil over what has not happened yet. */
export function Curtain({ playback }: { playback: Playback }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Moved by hand: the browser's compositor does it, and nothing is drawn again.
    const move = () => {
      const share = playback.timeMs / playback.spanMs
      if (element.current !== null) element.current.style.transform = `translateX(${share * 100}%)`
    }
    move()
    return playback.subscribe(move)
  }, [playback])
  return (
    <div class="curtain-rail" aria-hidden="true">
      <div class="curtain" ref={element} />
    </div>
  )
}
