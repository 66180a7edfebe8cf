import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour, DASHES } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { useParam } from '../../page/use-param.js'
import type { Lane, Scenario } from '../../simulation/scenario.js'
import { releasedPerBin } from '../../simulation/throughput.js'
import { countUpTo } from '../../simulation/times.js'
import type { Playback } from '../playback/playback.js'
import { AXIS_WIDTH, timeAxis } from './axes.js'
import { Plot } from './plot.js'

const POINTS = 360
const HEIGHT = 220

/** Two charts with all limiters: requests admitted in the last window, and released requests. */
export function WindowCharts({
  scenario,
  lanes,
  playback,
}: {
  scenario: Scenario
  lanes: readonly Lane[]
  playback: Playback
}) {
  const { words } = usePage()
  const [hide, setHide] = useParam('hide')
  const hidden = useMemo(() => new Set(hide?.split('.')), [hide])
  const shown = useMemo(() => lanes.filter((lane) => !hidden.has(lane.id)), [lanes, hidden])
  const toggle = (id: string) => {
    const next = new Set(hidden)
    if (!next.delete(id)) next.add(id)
    const hiddenIds = lanes.map((lane) => lane.id).filter((one) => next.has(one))
    setHide(hiddenIds.length === 0 ? undefined : hiddenIds.join('.'))
  }
  const inWindow = useMemo(() => admittedInWindow(scenario, shown), [scenario, shown])
  const rates = useMemo(() => ratesOf(scenario, shown), [scenario, shown])
  const kinds = shown.map((lane) => lane.kind)
  return (
    <section class="window-charts">
      <fieldset class="legend" aria-label={words.lab.legend}>
        {lanes.map((lane) => (
          <button
            key={lane.id}
            type="button"
            class="quiet"
            aria-pressed={!hidden.has(lane.id)}
            onClick={() => toggle(lane.id)}
          >
            <svg class={`line-sample ${lane.kind}`} viewBox="0 0 28 4" aria-hidden="true">
              <line x1="0" y1="2" x2="28" y2="2" stroke-dasharray={DASHES[lane.kind].join(' ')} />
            </svg>
            {words.algorithms[lane.kind]}
          </button>
        ))}
      </fieldset>
      <div class="two">
        <figure>
          <figcaption>{words.lab.inLastWindow(scenario.windowMs)}</figcaption>
          <LinesChart
            scenario={scenario}
            kinds={kinds}
            data={inWindow}
            limit={scenario.limit}
            playback={playback}
          />
        </figure>
        <figure>
          <figcaption>{words.lab.released(binMsOf(scenario))}</figcaption>
          <LinesChart scenario={scenario} kinds={kinds} data={rates} limit={undefined} playback={playback} />
        </figure>
      </div>
    </section>
  )
}

function LinesChart({
  scenario,
  kinds,
  data,
  limit,
  playback,
}: {
  scenario: Scenario
  kinds: readonly Lane['kind'][]
  data: uPlot.AlignedData
  limit: number | undefined
  playback: Playback
}) {
  const { words, theme } = usePage()
  const kindsText = kinds.join()
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const stepped = uPlot.paths.stepped?.({ align: 1 })
    return {
      padding: [12, 0, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [
        timeAxis(scenario, words),
        {
          size: AXIS_WIDTH,
          gap: 4,
          stroke: colour('muted'),
          font: '12px system-ui, sans-serif',
          grid: { stroke: colour('line'), width: 1 },
          ticks: { show: false },
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
        },
      ],
      scales: {
        x: { time: false, range: () => [0, scenario.spanMs] },
        y: { range: (_, _min, max) => [0, Math.max(1, limit ?? 0, max ?? 1) * 1.08] },
      },
      series: [
        {},
        ...kinds.map((kind) => ({
          stroke: colour(kind),
          dash: DASHES[kind],
          width: 2,
          points: { show: false },
          ...(stepped && { paths: stepped }),
        })),
      ],
      hooks: {
        draw: [
          (plot) => {
            if (limit !== undefined) drawLimit(plot, limit, words.lab.limitLine(limit))
          },
        ],
      },
    }
  }, [scenario, words, kindsText, limit, theme])
  return (
    <Plot playback={playback}>
      <Chart options={options} data={data} height={HEIGHT} label={words.lab.linesChart} />
    </Plot>
  )
}

/** A dashed line at the limit, with a label at its start: the end is dimmed until the clock gets there. */
function drawLimit(plot: uPlot, limit: number, label: string) {
  const { ctx, bbox } = plot
  const scale = devicePixelRatio
  ctx.save()
  ctx.font = `${12 * scale}px system-ui, sans-serif`
  const y = plot.valToPos(limit, 'y', true)
  ctx.strokeStyle = colour('denied')
  ctx.lineWidth = 1.5 * scale
  ctx.setLineDash([6 * scale, 4 * scale])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.fillStyle = colour('denied')
  ctx.textBaseline = 'bottom'
  ctx.textAlign = 'left'
  ctx.fillText(label, bbox.left + 4 * scale, y - 2 * scale)
  ctx.restore()
}

function admittedInWindow({ spanMs, windowMs }: Scenario, lanes: readonly Lane[]): uPlot.AlignedData {
  const x = Array.from({ length: POINTS + 1 }, (_, i) => (i / POINTS) * spanMs)
  const lines = lanes.map(({ run }) =>
    x.map((at) => countUpTo(run.admittedMs, at) - countUpTo(run.admittedMs, at - windowMs)),
  )
  return [x, ...lines]
}

const HOUR_MS = 3_600_000

/** A tenth of the window; of a day or longer, 2, 12 or 24 hours. */
function binMsOf({ windowMs }: Scenario): number {
  const days = windowMs / (24 * HOUR_MS)
  if (days < 1) return windowMs / 10
  return (days === 1 ? 2 : days <= 7 ? 12 : 24) * HOUR_MS
}

function ratesOf(scenario: Scenario, lanes: readonly Lane[]): uPlot.AlignedData {
  const bins = Math.round(scenario.spanMs / binMsOf(scenario))
  const x = Array.from({ length: bins }, (_, i) => (i / bins) * scenario.spanMs)
  return [x, ...lanes.map(({ run }) => releasedPerBin(run, scenario.spanMs, bins))]
}
