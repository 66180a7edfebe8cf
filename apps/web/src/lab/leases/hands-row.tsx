import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import type { LeaseRun } from '../../simulation/leases.js'
import { valueAt } from '../../simulation/steps.js'
import type { Playback } from '../playback/playback.js'
import { useTime } from '../playback/use-time.js'
import { AXIS_WIDTH } from '../timeline/axes.js'
import { LaneSection } from '../timeline/lane-section.js'
import { Plot } from '../timeline/plot.js'
import type { LeaseScenario } from './lease-settings.js'

const POINTS = 480
const BAND_HEIGHT = 30
/** The part of its band that the largest number of units fills. */
const FILLED = 0.85

/** The leased units of each process that are not spent yet: one band for each process, the first on top. */
export function HandsRow({
  scenario: { spanMs, policies },
  leased: { inHand },
  playback,
}: {
  scenario: LeaseScenario
  leased: LeaseRun
  playback: Playback
}) {
  const { words, theme } = usePage()
  const { algorithm } = policies[1]
  const count = inHand.length
  const most = useMemo(() => Math.max(1, ...inHand.flatMap(({ values }) => values)), [inHand])
  const data = useMemo((): uPlot.AlignedData => {
    const x = Array.from({ length: POINTS + 1 }, (_, i) => (i / POINTS) * spanMs)
    const bands = inHand.map((steps, i) =>
      x.map((at) => count - 1 - i + (FILLED * valueAt(steps, at)) / most),
    )
    return [x, ...bands]
  }, [inHand, most, spanMs])
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const stepped = uPlot.paths.stepped?.({ align: 1 })
    const bases = Array.from({ length: count }, (_, i) => i)
    return {
      padding: [14, 0, 4, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [
        { show: false },
        {
          scale: 'y',
          size: AXIS_WIDTH,
          gap: 4,
          stroke: colour('muted'),
          font: '12px system-ui, sans-serif',
          grid: { show: false },
          ticks: { show: false },
          splits: () => bases.map((base) => base + FILLED / 2),
          values: () => bases.map((base) => String(count - base)),
        },
      ],
      scales: { x: { time: false, range: () => [0, spanMs] }, y: { range: () => [0, count] } },
      series: [
        {},
        ...inHand.map((_, i) => ({
          stroke: colour(algorithm),
          fill: `${colour(algorithm)}59`,
          fillTo: count - 1 - i,
          width: 1,
          points: { show: false },
          ...(stepped && { paths: stepped }),
        })),
      ],
    }
  }, [spanMs, count, algorithm, theme])
  return (
    <LaneSection
      id="hands"
      title={words.leases.inHand}
      swatch={algorithm}
      heading="h2"
      facts={<p class="note">{words.leases.handsNote(most)}</p>}
      state={<UnitsInHand inHand={inHand} playback={playback} />}
    >
      <Plot playback={playback}>
        <Chart
          options={options}
          data={data}
          height={18 + count * BAND_HEIGHT}
          label={words.leases.handsChart}
        />
        <span class="axis-label">{words.leases.byProcess}</span>
      </Plot>
    </LaneSection>
  )
}

function UnitsInHand({ inHand, playback }: { inHand: LeaseRun['inHand']; playback: Playback }) {
  const { words } = usePage()
  const now = useTime(playback)
  return (
    <dl class="units">
      {inHand.map((steps, i) => (
        <div key={i}>
          <dt>{words.leases.process(i + 1)}</dt>
          <dd data-fact={`in-hand-${i + 1}`}>{valueAt(steps, now)}</dd>
        </div>
      ))}
    </dl>
  )
}
