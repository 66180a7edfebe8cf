import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { Chart } from '../chart.js'
import { type ColourName, colour } from '../colours.js'
import { usePage } from '../page-context.js'
import { type Lines, spanOf } from './history.js'

export interface LineStyle {
  readonly colour: ColourName
  readonly dash?: number[]
  readonly isFilled?: boolean
}

/** Two lines over the last five minutes. */
export function LinesChart({
  data,
  styles,
  label,
  format,
  isLog = false,
}: {
  data: Lines
  styles: readonly [LineStyle, LineStyle]
  label: string
  format: (value: number) => string
  /** For what differs by magnitudes: one that is far off should not flatten the rest. */
  isLog?: boolean
}) {
  const { words, theme } = usePage()
  // A chart takes its colours when it is made
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const axis = {
      stroke: colour('muted'),
      font: '12px system-ui, sans-serif',
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
      gap: 6,
    }
    return {
      padding: [10, 4, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [
        {
          ...axis,
          size: 28,
          splits: (plot) => ticksOf(plot.data as Lines),
          values: (_, splits) => splits.map((at) => words.dashboard.live.ago(-at)),
        },
        {
          ...axis,
          size: 58,
          values: (_, splits) => splits.map((at) => (at === null ? '' : format(at))),
          ...(isLog ? { splits: powersIn, filter: (_: uPlot, splits: number[]) => splits } : {}),
        },
      ],
      scales: {
        x: { time: false, range: (plot) => [-spanOf(plot.data as Lines), 0] },
        y: isLog ? { distr: 3, range: decades } : { range: (_, _min, max) => [0, (max ?? 0) * 1.1 || 1] },
      },
      series: [
        {},
        ...styles.map(({ colour: name, dash, isFilled }) => ({
          stroke: colour(name),
          width: 2,
          points: { show: false },
          ...(dash === undefined ? {} : { dash }),
          ...(isFilled ? { fill: `${colour(name)}22` } : {}),
        })),
      ],
    }
  }, [theme, words, styles, format, isLog])
  return <Chart options={options} data={data as uPlot.AlignedData} height={200} label={label} />
}

/** Whole powers of ten around what is there. */
function decades(_: uPlot, min: number | null, max: number | null): [number, number] {
  const low = Math.floor(Math.log10(min || 0.01))
  const high = Math.ceil(Math.log10(max || 1))
  return [10 ** low, 10 ** Math.max(high, low + 1)]
}

function powersIn(_: uPlot, _axis: number, min: number, max: number): number[] {
  const [low, high] = [Math.round(Math.log10(min)), Math.round(Math.log10(max))]
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
}

function ticksOf(data: Lines): number[] {
  const span = spanOf(data)
  const step = span <= 120 ? 20 : 60
  return Array.from({ length: Math.ceil(span / step) - 1 }, (_, i) => -(i + 1) * step)
}
