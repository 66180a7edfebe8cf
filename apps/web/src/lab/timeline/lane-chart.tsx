import type { Policy } from '@tidegate/core'
import { useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { type Bins, countPerBin } from '../../simulation/bins.js'
import type { Block } from '../../simulation/state.js'
import type { Playback } from '../playback/playback.js'
import { endsAxis } from './axes.js'
import { hatch } from './hatch.js'
import { Plot } from './plot.js'

const HEIGHT = 116
const LEVEL_POINTS = 240
/** Shares of the height: denied bars hang below this line, allowed bars stand on it. */
const BARS_BASE = 0.19
/** Share of the height below the line where the state is 0. */
const LEVEL_BASE = 0.44
/** Denied requests that count can raise the state far above the limit. The chart shows it up to so many limits. */
const MAX_LEVELS = 3

/** A limiter as its chart shows it. Times are milliseconds on the axis, ascending. */
export interface ChartedLane {
  readonly algorithm: Policy['algorithm']
  /** Text alternative for screen readers. */
  readonly label: string
  readonly atMs: readonly number[]
  readonly admittedMs: readonly number[]
  /** The state, which `full` limits; `levelLabel` says in which unit. */
  readonly levelAt: (atMs: number) => number
  readonly levelLabel: string
  readonly full: number
  readonly windowStartsMs: readonly number[]
  readonly blocks: readonly Block[]
}

/**
 * One limiter over time. The upper part shows the state; in the lower part, allowed requests are solid bars above
 * a line and denied requests hatched bars below it.
 */
export function LaneChart({
  spanMs,
  lane,
  bins,
  playback,
}: {
  spanMs: number
  lane: ChartedLane
  bins: Bins
  playback: Playback
}) {
  const { theme } = usePage()
  const { algorithm, full, windowStartsMs, blocks } = lane
  const { data, levels, most, top } = useMemo(() => laneData(spanMs, lane, bins), [spanMs, lane, bins])
  const latestLevels = useRef(levels)
  latestLevels.current = levels
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const bars = uPlot.paths.bars?.({ size: [0.9, Number.POSITIVE_INFINITY], align: 1 })
    const bar = {
      scale: 'requests',
      fillTo: 0,
      width: 0,
      points: { show: false },
      ...(bars && { paths: bars }),
    }
    const deniedFill = hatch(colour('denied'))
    const topOfLevel = top * 1.1
    return {
      padding: [14, 0, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [{ show: false }, endsAxis('level', full)],
      scales: {
        x: { time: false, range: () => [0, spanMs] },
        requests: { range: () => [-most, (most * (1 - BARS_BASE)) / BARS_BASE] },
        level: { range: () => [(-topOfLevel * LEVEL_BASE) / (1 - LEVEL_BASE), topOfLevel] },
      },
      series: [
        {},
        { ...bar, fill: () => deniedFill },
        { ...bar, fill: colour(algorithm) },
        {
          scale: 'level',
          stroke: colour(algorithm),
          fill: `${colour(algorithm)}1f`,
          fillTo: 0,
          width: 1.5,
          points: { show: false },
          paths: (plot) => levelPaths(plot, latestLevels.current),
        },
      ],
      hooks: { drawClear: [(plot) => drawBackground(plot, { windowStartsMs, blocks, full })] },
    }
  }, [spanMs, windowStartsMs, blocks, most, full, top, algorithm, theme])
  return (
    <Plot playback={playback}>
      <Chart options={options} data={data} height={HEIGHT} label={lane.label} />
      <span class="axis-label">{lane.levelLabel}</span>
    </Plot>
  )
}

interface Level {
  readonly atMs: number
  readonly value: number
}

function laneData(spanMs: number, { atMs, admittedMs, levelAt, full }: ChartedLane, bins: Bins) {
  const all = countPerBin(atMs, bins)
  const admitted = countPerBin(admittedMs, bins)
  const levels = Array.from({ length: LEVEL_POINTS + 1 }, (_, i): Level => {
    const at = (i / LEVEL_POINTS) * spanMs
    return { atMs: at, value: Math.min(levelAt(at), MAX_LEVELS * full) }
  })
  const top = Math.max(full, ...levels.map(({ value }) => value))
  const data: uPlot.AlignedData = [
    Array.from({ length: bins.count + 1 }, (_, i) => bins.startMs + i * bins.widthMs),
    [...all.map((count, i) => (admitted[i] ?? 0) - count || null), null],
    [...admitted.map((count) => count || null), null],
    [...all.map(() => full), null],
  ]
  return { data, levels, most: Math.max(1, ...all), top }
}

/** The state has its own points: bars may be much wider than its changes. */
function levelPaths(plot: uPlot, levels: readonly Level[]): uPlot.Series.Paths {
  const stroke = new Path2D()
  const points = levels.map(({ atMs, value }) => ({
    x: plot.valToPos(atMs, 'x', true),
    y: plot.valToPos(value, 'level', true),
  }))
  for (const { x, y } of points) stroke.lineTo(x, y)
  const fill = new Path2D(stroke)
  const base = plot.valToPos(0, 'level', true)
  fill.lineTo(points.at(-1)?.x ?? 0, base)
  fill.lineTo(points[0]?.x ?? 0, base)
  return { stroke, fill, clip: null, band: null, gaps: [], flags: 1 }
}

/** Draws the blocks, the window starts, the two base lines and the limit. */
function drawBackground(
  plot: uPlot,
  {
    windowStartsMs,
    blocks,
    full,
  }: { windowStartsMs: readonly number[]; blocks: readonly Block[]; full: number },
) {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.fillStyle = colour('denied-soft')
  for (const { fromMs, toMs } of blocks) {
    const left = plot.valToPos(fromMs, 'x', true)
    const right = Math.min(plot.valToPos(toMs, 'x', true), bbox.left + bbox.width)
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
  ctx.strokeStyle = colour('line')
  ctx.lineWidth = devicePixelRatio
  const line = (fromX: number, fromY: number, toX: number, toY: number) => {
    ctx.beginPath()
    ctx.moveTo(fromX, fromY)
    ctx.lineTo(toX, toY)
    ctx.stroke()
  }
  const across = (y: number) => line(bbox.left, y, bbox.left + bbox.width, y)
  across(plot.valToPos(0, 'level', true))
  across(plot.valToPos(0, 'requests', true))
  ctx.strokeStyle = colour('muted')
  ctx.globalAlpha = 0.6
  for (const at of windowStartsMs) {
    const x = plot.valToPos(at, 'x', true)
    line(x, bbox.top, x, bbox.top + bbox.height)
  }
  ctx.globalAlpha = 1
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio])
  across(plot.valToPos(full, 'level', true))
  ctx.restore()
}
