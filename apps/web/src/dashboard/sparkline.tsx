import { useLayoutEffect, useRef } from 'preact/hooks'
import { colour } from '../colours.js'
import { usePage } from '../page-context.js'
import { type Lines, spanOf } from './history.js'

const WIDTH = 140
const HEIGHT = 26

/** The shape of the last minutes, without numbers: those stand beside it. */
export function Sparkline({ data }: { data: Lines }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { theme } = usePage()
  useLayoutEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element == null || context == null) return
    const scale = devicePixelRatio
    element.width = WIDTH * scale
    element.height = HEIGHT * scale
    context.scale(scale, scale)
    const [seconds, allowed, refused] = data
    const span = spanOf(data)
    const most = Math.max(1e-9, ...numbers(allowed), ...numbers(refused))
    for (const [values, name] of [
      [allowed, 'accent'],
      [refused, 'refused'],
    ] as const) {
      context.strokeStyle = colour(name)
      context.lineWidth = 1.5
      context.beginPath()
      let isDown = false
      values.forEach((value, i) => {
        if (value === null) {
          isDown = false
          return
        }
        const x = (1 + (seconds[i] ?? 0) / span) * WIDTH
        const y = HEIGHT - 2 - (value / most) * (HEIGHT - 4)
        if (isDown) context.lineTo(x, y)
        else context.moveTo(x, y)
        isDown = true
      })
      context.stroke()
    }
  }, [data, theme])
  return <canvas ref={canvas} class="sparkline" />
}

function numbers(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null)
}
