import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../chart.js'
import { colour } from '../colours.js'
import { usePage } from '../page-context.js'
import { Curtain } from './curtain.js'
import { LaneRow } from './lane-row.js'
import type { Playback } from './playback.js'
import { roundMoments } from './round-moments.js'
import type { Lane, Scenario } from './scenario.js'
import { countPerBin } from './times.js'
import { momentText, Transport } from './transport.js'

/** All limiters of a scenario on one time axis, with the clock to hold. */
export function Timeline({
  scenario,
  lanes,
  playback,
  arrivals,
}: {
  scenario: Scenario
  lanes: readonly Lane[]
  playback: Playback
  /** In place of the chart of arrivals, if there is something to do there. */
  arrivals?: ComponentChildren
}) {
  const { words } = usePage()
  return (
    <div class="timeline">
      <Transport scenario={scenario} playback={playback} />
      <section class="lane arrivals" aria-label={words.lab.arrivals}>
        <div class="lane-facts">
          <h3>{words.lab.arrivals}</h3>
          <p class="counts">
            <span>
              <b data-fact="arrivals">{scenario.arrivals.length}</b> {words.lab.requests}
            </span>
          </p>
        </div>
        <div class="plot">
          {arrivals}
          <ArrivalsChart scenario={scenario} axisOnly={arrivals !== undefined} />
          <Curtain playback={playback} />
        </div>
        <div class="lane-state note">
          {scenario.limit !== undefined && words.lab.limitIs(scenario.limit, scenario.windowMs)}
        </div>
      </section>
      {lanes.map((lane) => (
        <LaneRow key={lane.id} scenario={scenario} lane={lane} playback={playback} />
      ))}
    </div>
  )
}

const BINS = 240
const AXIS_HEIGHT = 26
const LABEL_WIDTH = 84

function ArrivalsChart({ scenario, axisOnly }: { scenario: Scenario; axisOnly: boolean }) {
  const { words, theme } = usePage()
  const { spanMs } = scenario
  const counts = useMemo(() => countPerBin(scenario.arrivals, spanMs, BINS), [scenario, spanMs])
  const data = useMemo(
    (): uPlot.AlignedData => [
      Array.from({ length: BINS + 1 }, (_, i) => (i / BINS) * spanMs),
      [...(axisOnly ? counts.map(() => null) : counts), null],
    ],
    [counts, spanMs, axisOnly],
  )
  // A chart takes its colours when it is made
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const bars = uPlot.paths.bars?.({ size: [0.9, Number.POSITIVE_INFINITY], align: 1 })
    return {
      padding: [4, 0, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [timeAxis(scenario), { show: false }],
      scales: {
        x: { time: false, range: () => [0, spanMs] },
        y: { range: (_, _min, max) => [0, Math.max(1, max ?? 1)] },
      },
      series: [{}, { fill: colour('ink'), width: 0, points: { show: false }, ...(bars && { paths: bars }) }],
    }
  }, [scenario, theme])
  return (
    <Chart options={options} data={data} height={axisOnly ? AXIS_HEIGHT : 86} label={words.lab.arrivals} />
  )
}

/** The axis of all charts of a scenario. */
export function timeAxis(scenario: Scenario): uPlot.Axis {
  return {
    scale: 'x',
    size: AXIS_HEIGHT,
    gap: 4,
    stroke: colour('muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1, size: 4 },
    splits: (plot) => roundMoments(scenario, plot.width / LABEL_WIDTH),
    values: (_, splits) => {
      const isRound = splits.every((at) => (scenario.originMs + at) % 1000 === 0)
      return splits.map((at) => momentText(scenario, at, isRound))
    },
  }
}
