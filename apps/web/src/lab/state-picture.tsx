import { useEffect, useRef } from 'preact/hooks'
import { colour } from '../colours.js'
import { usePage } from '../page-context.js'
import { drawState } from './draw-state.js'
import type { Playback } from './playback.js'
import type { StateAt } from './state.js'

/** What is inside one limiter at the moment, as a picture. The words beside it say the same. */
export function StatePicture({ stateAt, playback }: { stateAt: StateAt; playback: Playback }) {
  const { theme } = usePage()
  const canvas = useRef<HTMLCanvasElement>(null)
  // The colours are the theme's
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element === null || !context) return
    const draw = () => {
      const { clientWidth: width, clientHeight: height } = element
      const scale = devicePixelRatio
      if (element.width !== Math.round(width * scale) || element.height !== Math.round(height * scale)) {
        element.width = Math.round(width * scale)
        element.height = Math.round(height * scale)
      }
      context.setTransform(scale, 0, 0, scale, 0, 0)
      context.clearRect(0, 0, width, height)
      drawState(context, stateAt(playback.timeMs), { width, height, ...colours })
    }
    const kind = stateAt(0).kind
    const colours = {
      own: colour(kind),
      line: colour('line'),
      muted: colour('muted'),
      refused: colour('refused'),
    }
    draw()
    const observer = new ResizeObserver(draw)
    observer.observe(element)
    const unsubscribe = playback.subscribe(draw)
    return () => {
      observer.disconnect()
      unsubscribe()
    }
  }, [stateAt, playback, theme])
  return (
    <div aria-hidden="true">
      <canvas class="state-picture" ref={canvas} />
    </div>
  )
}
