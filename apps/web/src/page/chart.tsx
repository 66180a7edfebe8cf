import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface ChartProps {
  readonly options: Omit<uPlot.Options, 'width' | 'height'>
  readonly data: uPlot.AlignedData
  readonly height: number
  /** Text alternative for screen readers. */
  readonly label: string
}

/** A uPlot chart as wide as its parent. New options create a new chart; new data updates the chart. */
export function Chart({ options, data, height, label }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  useEffect(() => {
    const element = host.current
    if (element === null) return
    const chart = new uPlot({ ...options, width: Math.max(1, element.clientWidth), height }, data, element)
    plot.current = chart
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== chart.width)
        chart.setSize({ width: element.clientWidth, height })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
      plot.current = undefined
    }
  }, [options, height])
  useEffect(() => plot.current?.setData(data), [data])
  // The height is reserved, so that nothing moves when the chart is created.
  return <div class="chart" ref={host} role="img" aria-label={label} style={{ height: `${height}px` }} />
}
