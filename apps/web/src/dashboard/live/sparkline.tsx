import { useLayoutEffect, useRef } from 'preact/hooks'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { type Lines, spanOf } from '../service/history.js'

const WIDTH = 140
const HEIGHT = 26

/**
 * The last minutes as two small lines on a base line: allowed, and dashed for denied. A line without any checks is left
 * out, so that it does not look like traffic.
 */
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
    const [seconds, allowed, denied] = data
    const span = spanOf(data)
    const end = seconds.at(-1) ?? 0
    const highest = Math.max(1e-9, ...numbers(allowed), ...numbers(denied))
    const hasChecks = (values: Lines[1]) => values.some((value) => value !== null && value > 0)
    context.strokeStyle = colour('line')
    context.beginPath()
    context.moveTo(0, HEIGHT - 1.5)
    context.lineTo(WIDTH, HEIGHT - 1.5)
    context.stroke()
    for (const [values, name, dash] of [
      [allowed, 'accent', []],
      [denied, 'denied', [4, 2]],
    ] as const) {
      if (!hasChecks(values)) continue
      context.setLineDash(dash)
      context.strokeStyle = colour(name)
      context.lineWidth = 1.5
      context.beginPath()
      let isDown = false
      values.forEach((value, i) => {
        if (value === null) {
          isDown = false
          return
        }
        const x = (1 - (end - (seconds[i] ?? 0)) / span) * WIDTH
        const y = HEIGHT - 2 - (value / highest) * (HEIGHT - 4)
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
