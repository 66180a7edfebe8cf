import { useEffect, useRef } from 'preact/hooks'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import type { StateAt } from '../../simulation/state.js'
import type { Playback } from '../playback/playback.js'
import { drawState } from './draw-state.js'
import { hatch } from './hatch.js'

/** The current state of one limiter as a picture. The text below it is the accessible alternative. */
export function StatePicture({ stateAt, playback }: { stateAt: StateAt; playback: Playback }) {
  const { theme } = usePage()
  const canvas = useRef<HTMLCanvasElement>(null)
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
      blocked: hatch(colour('denied')),
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
