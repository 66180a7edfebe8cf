import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../chart.js'
import { colour } from '../colours.js'
import { usePage } from '../page-context.js'
import { Curtain } from './curtain.js'
import type { Playback } from './playback.js'
import type { Lane, Scenario } from './scenario.js'
import { usedIn } from './state.js'
import { countPerBin } from './times.js'

const BINS = 240
const HEIGHT = 92

/**
 * One limiter over time: below, what came in each moment, let in and refused; above, what is inside. Two
 * scales of one chart, each with room for the other.
 */
export function LaneChart({
  scenario,
  lane,
  playback,
}: {
  scenario: Scenario
  lane: Lane
  playback: Playback
}) {
  const { words, theme } = usePage()
  const { spanMs, windowMs, originMs } = scenario
  const { data, most, full } = useMemo(() => laneData(scenario, lane), [scenario, lane])
  // A chart takes its colours when it is made
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const bars = uPlot.paths.bars?.({ size: [0.9, Number.POSITIVE_INFINITY], align: 1 })
    return {
      padding: [2, 0, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [{ show: false }, { show: false }, { show: false }],
      scales: {
        x: { time: false, range: () => [0, spanMs] },
        requests: { range: () => [0, most * 3] },
        level: { range: () => [-full * 0.6, full * 1.1] },
      },
      series: [
        {},
        {
          scale: 'requests',
          fill: colour('refused'),
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        },
        {
          scale: 'requests',
          fill: colour(lane.kind),
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        },
        {
          scale: 'level',
          stroke: colour(lane.kind),
          fill: `${colour(lane.kind)}1f`,
          fillTo: 0,
          width: 1.5,
          points: { show: false },
        },
      ],
      hooks: { drawClear: [(plot) => drawGround(plot, { spanMs, windowMs, originMs, full })] },
    }
  }, [spanMs, windowMs, originMs, most, full, lane.kind, theme])
  return (
    <div class="plot">
      <Chart
        options={options}
        data={data}
        height={HEIGHT}
        label={words.lab.laneChart(words.algorithms[lane.kind])}
      />
      <Curtain playback={playback} />
    </div>
  )
}

function laneData({ spanMs, arrivals }: Scenario, { kind, run }: Lane) {
  const x = Array.from({ length: BINS + 1 }, (_, i) => (i / BINS) * spanMs)
  const all = countPerBin(arrivals, spanMs, BINS)
  const admitted = countPerBin(run.admittedMs, spanMs, BINS)
  const states = x.map((at) => run.stateAt(at))
  const first = states[0]
  const full = first === undefined ? 1 : 'capacity' in first ? first.capacity : first.limit
  // Tokens are shown as what is left, everything else as what is used.
  const levels = states.map((state) => (kind === 'token-bucket' ? full - usedIn(state) : usedIn(state)))
  const data: uPlot.AlignedData = [x, [...all, null], [...admitted, null], levels]
  return { data, most: Math.max(1, ...all), full }
}

/** Where windows begin, the ground that the level stands on, and the limit. */
function drawGround(
  plot: uPlot,
  { spanMs, windowMs, originMs, full }: { spanMs: number; windowMs: number; originMs: number; full: number },
) {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = colour('line')
  ctx.lineWidth = devicePixelRatio
  const line = (fromX: number, fromY: number, toX: number, toY: number) => {
    ctx.beginPath()
    ctx.moveTo(fromX, fromY)
    ctx.lineTo(toX, toY)
    ctx.stroke()
  }
  const firstStart = (windowMs - (originMs % windowMs)) % windowMs
  for (let at = firstStart; at <= spanMs; at += windowMs) {
    const x = plot.valToPos(at, 'x', true)
    line(x, bbox.top, x, bbox.top + bbox.height)
  }
  const ground = plot.valToPos(0, 'level', true)
  line(bbox.left, ground, bbox.left + bbox.width, ground)
  ctx.strokeStyle = colour('muted')
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio])
  const limit = plot.valToPos(full, 'level', true)
  line(bbox.left, limit, bbox.left + bbox.width, limit)
  ctx.restore()
}
