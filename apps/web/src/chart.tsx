import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface ChartProps {
  readonly options: Omit<uPlot.Options, 'width' | 'height'>
  readonly data: uPlot.AlignedData
  readonly height: number
  /** What a chart shows, for those who cannot see it. */
  readonly label: string
}

/** A uPlot chart as wide as where it stands. It is made anew when its options are others. */
export function Chart({ options, data, height, label }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  // Data goes into the chart that is there, below
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const made = new uPlot({ ...options, width: Math.max(1, element.clientWidth), height }, data, element)
    plot.current = made
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== made.width)
        made.setSize({ width: element.clientWidth, height })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [options, height])
  useEffect(() => plot.current?.setData(data), [data])
  return <div class="chart" ref={host} role="img" aria-label={label} />
}
