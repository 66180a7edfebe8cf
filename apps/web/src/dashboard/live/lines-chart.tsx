import { useMemo, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { type ColourName, colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { formatLocalTime } from '../../words/format.js'
import { type Lines, spanOf } from '../service/history.js'
import { clockTicks } from './clock-ticks.js'
import { logRange, powersOfTen } from './log-scale.js'

export interface LineStyle {
  readonly colour: ColourName
  readonly dash?: number[]
  readonly isFilled?: boolean
}

const LOG_AXIS: uPlot.Axis = {
  splits: (_, _axis, min, max) => powersOfTen(min, max),
  filter: (_, splits) => splits,
}

/** Two lines over the last five minutes. Times are those of the browser, to compare them with logs. */
export function LinesChart({
  data,
  styles,
  names,
  label,
  format,
  isLog = false,
}: {
  data: Lines
  styles: readonly [LineStyle, LineStyle]
  names: readonly [string, string]
  label: string
  format: (value: number) => string
  /** Logarithmic scale, so that an outlier does not flatten the rest. */
  isLog?: boolean
}) {
  const { theme } = usePage()
  const [pointed, setPointed] = useState<number>()
  // A chart reads its colours when it is created, so it depends on the theme.
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
      // The pointer is at the same time in all charts of Live.
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'live' } },
      hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)] },
      axes: [
        {
          ...axis,
          size: 28,
          splits: (_, _axis, min, max) => clockTicks(min, max),
          values: (_, splits) => {
            const isByMinute = splits.every((at) => at % 60 === 0)
            return splits.map((at) => formatLocalTime(at * 1000, !isByMinute))
          },
        },
        {
          ...axis,
          size: 58,
          values: (_, splits) => splits.map((at) => (at === null ? '' : format(at))),
          ...(isLog ? LOG_AXIS : {}),
        },
      ],
      scales: {
        x: { time: false, range: ({ data }) => timeRange(data as Lines) },
        y: isLog
          ? { distr: 3, range: (_, min, max) => logRange(min, max) }
          : { range: (_, _min, max) => [0, (max ?? 0) * 1.1 || 1] },
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
  }, [theme, styles, format, isLog])
  return (
    <div class="live-chart">
      <Chart options={options} data={data as uPlot.AlignedData} height={200} label={label} />
      {pointed !== undefined && (
        <p class="readout" aria-hidden="true">
          {readoutText(data, pointed, names, format)}
        </p>
      )}
    </div>
  )
}

function timeRange(data: Lines): [number, number] {
  const end = data[0].at(-1) ?? Date.now() / 1000
  return [end - spanOf(data), end]
}

/** The time and the values at one point, such as `12:04:05 Allowed 50 Denied 12`. */
function readoutText(
  [seconds, ...lines]: Lines,
  point: number,
  names: readonly [string, string],
  format: (value: number) => string,
): string {
  const time = formatLocalTime((seconds[point] ?? 0) * 1000, true)
  const values = lines.map((line) => line[point] ?? undefined)
  const texts = values.map((value, i) => `${names[i]} ${value === undefined ? '–' : format(value)}`)
  return [time, ...texts].join(' ')
}
