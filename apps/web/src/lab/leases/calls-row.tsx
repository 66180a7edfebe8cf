import { useMemo } from 'preact/hooks'
import uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { type Bins, countPerBin } from '../../simulation/bins.js'
import type { LeaseRun } from '../../simulation/leases.js'
import { countUpTo } from '../../simulation/times.js'
import type { Playback } from '../playback/playback.js'
import { useTime } from '../playback/use-time.js'
import { endsAxis } from '../timeline/axes.js'
import { LaneSection } from '../timeline/lane-section.js'
import { Plot } from '../timeline/plot.js'
import type { LeaseScenario } from './lease-settings.js'

/** The calls to the store, in front of the checks: without a lease, each check is a call. */
export function CallsRow({
  scenario: { spanMs },
  leased,
  bins,
  playback,
}: {
  scenario: LeaseScenario
  leased: LeaseRun
  bins: Bins
  playback: Playback
}) {
  const { words, theme } = usePage()
  const { data, most } = useMemo(() => {
    const calls = countPerBin(leased.callsMs, bins)
    const checks = countPerBin(leased.atMs, bins)
    const starts = Array.from({ length: bins.count + 1 }, (_, i) => bins.startMs + i * bins.widthMs)
    const data: uPlot.AlignedData = [starts, [...checks, null], [...calls, null]]
    return { data, most: Math.max(1, ...checks, ...calls) }
  }, [leased, bins])
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const stepped = uPlot.paths.stepped?.({ align: 1 })
    const bars = uPlot.paths.bars?.({ size: [0.9, Number.POSITIVE_INFINITY], align: 1 })
    return {
      padding: [14, 0, 4, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [{ show: false }, endsAxis('y', most)],
      scales: { x: { time: false, range: () => [0, spanMs] }, y: { range: () => [0, most * 1.05] } },
      series: [
        {},
        { stroke: colour('muted'), width: 1, points: { show: false }, ...(stepped && { paths: stepped }) },
        { fill: colour('accent'), width: 0, points: { show: false }, ...(bars && { paths: bars }) },
      ],
    }
  }, [spanMs, most, theme])
  return (
    <LaneSection
      id="calls"
      title={words.leases.calls}
      heading="h2"
      facts={<CallCounts leased={leased} playback={playback} />}
      state={<CallsPerCheck leased={leased} playback={playback} />}
    >
      <Plot playback={playback}>
        <Chart options={options} data={data} height={84} label={words.leases.callsChart} />
        <span class="axis-label">{words.leases.callsPerBin(bins.widthMs)}</span>
      </Plot>
    </LaneSection>
  )
}

function useCalls({ callsMs, atMs }: LeaseRun, playback: Playback) {
  const now = useTime(playback)
  return { calls: countUpTo(callsMs, now), checks: countUpTo(atMs, now) }
}

function CallCounts({ leased, playback }: { leased: LeaseRun; playback: Playback }) {
  const { words } = usePage()
  const { calls, checks } = useCalls(leased, playback)
  return (
    <p class="counts">
      <span data-fact="calls">{words.leases.callCount(calls)}</span>
      <span>{words.leases.checkCount(checks)}</span>
    </p>
  )
}

function CallsPerCheck({ leased, playback }: { leased: LeaseRun; playback: Playback }) {
  const { words } = usePage()
  const { calls, checks } = useCalls(leased, playback)
  return (
    <p class="per-check">
      <b data-fact="calls-per-check">{checks === 0 ? '–' : (calls / checks).toFixed(2)}</b>{' '}
      {words.leases.perCheck}
    </p>
  )
}
