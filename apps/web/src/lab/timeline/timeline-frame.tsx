import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { type Bins, binsThrough, chooseBins, countPerBin } from '../../simulation/bins.js'
import type { Scenario } from '../../simulation/scenario.js'
import { formatCount } from '../../words/format.js'
import type { Words } from '../../words/words.js'
import type { Playback } from '../playback/playback.js'
import { Transport } from '../playback/transport.js'
import { AXIS_WIDTH, endsAxis, TIME_AXIS_HEIGHT, timeAxis } from './axes.js'
import { Plot } from './plot.js'

/** The controls of the clock, the requests, and rows on the same time axis. */
export function TimelineFrame({
  scenario,
  playback,
  headings: Heading,
  limit,
  marks,
  arrivals,
  children,
}: {
  scenario: Scenario
  playback: Playback
  /** Level of the row headings: one below the heading above the timeline. */
  headings: 'h2' | 'h3'
  /** The limit as a text. */
  limit: string | undefined
  /** The marks of the charts and their meanings, for the legend. */
  marks: readonly Mark[]
  /** Replaces the bars of the arrivals chart. */
  arrivals?: ComponentChildren
  children: (bins: Bins) => ComponentChildren
}) {
  const { words } = usePage()
  const { binMs, spanMs } = scenario
  const bins = useMemo(
    () => (binMs === undefined ? chooseBins(scenario.arrivals, spanMs) : binsThrough(0, binMs, spanMs)),
    [scenario, binMs, spanMs],
  )
  return (
    <div class="timeline">
      <Transport scenario={scenario} playback={playback} />
      <section class="lane arrivals" aria-label={words.lab.arrivals}>
        <div class="lane-facts">
          <Heading class="lane-name">{words.lab.arrivals}</Heading>
          <p class="counts">
            <span>
              <b data-fact="arrivals">{formatCount(scenario.arrivals.length)}</b>
              {words.lab.requests}
            </span>
          </p>
        </div>
        <Plot playback={playback}>
          {arrivals}
          <ArrivalsChart scenario={scenario} bins={bins} axisOnly={arrivals !== undefined} />
          <span class="axis-label">{words.lab.perBin(bins.widthMs)}</span>
        </Plot>
        <div class="lane-state note">{limit}</div>
      </section>
      <Legend marks={marks} />
      {children(bins)}
    </div>
  )
}

/** Class of a sample in the style sheet, and what it means. */
export type Mark = readonly [sample: string, label: string]

/** The marks of every lane chart. */
export function laneMarks({ lab: { marks } }: Words, hasWindows: boolean): readonly Mark[] {
  return [
    ['bar', marks.allowed],
    ['bar hatched', marks.denied],
    ['area', marks.state],
    ['dashed', marks.limit],
    ...(hasWindows ? [['vertical', marks.windowStart] as const] : []),
  ]
}

function Legend({ marks }: { marks: readonly Mark[] }) {
  const { lab } = usePage().words
  return (
    <ul class="chart-legend" aria-label={lab.chartLegend}>
      {marks.map(([sample, label]) => (
        <li key={sample}>
          <i class={`mark-sample ${sample}`} aria-hidden="true" />
          {label}
        </li>
      ))}
    </ul>
  )
}

function ArrivalsChart({ scenario, bins, axisOnly }: { scenario: Scenario; bins: Bins; axisOnly: boolean }) {
  const { words, theme } = usePage()
  const { spanMs } = scenario
  const counts = useMemo(() => countPerBin(scenario.arrivals, bins), [scenario, bins])
  const most = Math.max(1, ...counts)
  const data = useMemo(
    (): uPlot.AlignedData => [
      Array.from({ length: bins.count + 1 }, (_, i) => bins.startMs + i * bins.widthMs),
      [...(axisOnly ? counts.map(() => null) : counts), null],
    ],
    [counts, bins, axisOnly],
  )
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const bars = uPlot.paths.bars?.({ size: [0.9, Number.POSITIVE_INFINITY], align: 1 })
    return {
      padding: [axisOnly ? 0 : 14, 0, 0, axisOnly ? AXIS_WIDTH : 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [timeAxis(scenario, words), axisOnly ? { show: false } : endsAxis('y', most)],
      scales: {
        x: { time: false, range: () => [0, spanMs] },
        y: { range: () => [0, most] },
      },
      series: [{}, { fill: colour('ink'), width: 0, points: { show: false }, ...(bars && { paths: bars }) }],
    }
  }, [scenario, words, most, axisOnly, theme])
  return (
    <Chart
      options={options}
      data={data}
      height={axisOnly ? TIME_AXIS_HEIGHT : 96}
      label={words.lab.arrivals}
    />
  )
}
