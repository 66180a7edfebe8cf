import { useMemo } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import type { Bins } from '../../simulation/bins.js'
import { type SlotsRun, simulateSlots } from '../../simulation/slots.js'
import { valueAt } from '../../simulation/steps.js'
import type { Playback } from '../playback/playback.js'
import { useTime } from '../playback/use-time.js'
import { Counts, Most } from '../timeline/facts.js'
import { type ChartedLane, LaneChart } from '../timeline/lane-chart.js'
import { LaneSection } from '../timeline/lane-section.js'
import type { ConcurrencyScenario } from './concurrency-settings.js'

/** The requests that a concurrency policy allows, and the slots that they hold. */
export function SlotsRow({
  scenario,
  bins,
  playback,
}: {
  scenario: ConcurrencyScenario
  bins: Bins
  playback: Playback
}) {
  const { words } = usePage()
  const { policy, spanMs } = scenario
  const run = useMemo(() => simulateSlots(policy, scenario), [scenario])
  const most = useMemo(() => mostOf(run), [run])
  const charted = useMemo(
    (): ChartedLane => ({
      algorithm: policy.algorithm,
      label: words.lab.laneChart(words.algorithms.concurrency),
      atMs: run.atMs,
      admittedMs: run.admittedMs,
      levelAt: (at) => valueAt(run.inUse, at),
      levelLabel: words.concurrency.slotsInUse,
      full: policy.limit,
      windowStartsMs: [],
      blocks: [],
    }),
    [policy, run, words],
  )
  return (
    <LaneSection
      id={policy.algorithm}
      title={words.algorithms.concurrency}
      swatch={policy.algorithm}
      heading="h2"
      facts={
        <>
          <Counts run={run} playback={playback} />
          <Most
            mostAt={(at) => valueAt(most, at)}
            limit={policy.limit}
            text={words.concurrency.most}
            playback={playback}
          />
        </>
      }
      state={<Slots run={run} limit={policy.limit} playback={playback} />}
    >
      <LaneChart spanMs={spanMs} lane={charted} bins={bins} playback={playback} />
    </LaneSection>
  )
}

/** The most slots in use so far. */
function mostOf({ inUse: { atMs, values } }: SlotsRun) {
  let most = 0
  return {
    atMs,
    values: values.map((value) => {
      most = Math.max(most, value)
      return most
    }),
  }
}

/** Each slot at the current time: filled if it is held, else hollow. */
function Slots({ run, limit, playback }: { run: SlotsRun; limit: number; playback: Playback }) {
  const { words } = usePage()
  const inUse = valueAt(run.inUse, useTime(playback))
  return (
    <>
      <div class="slots" aria-hidden="true">
        {Array.from({ length: limit }, (_, i) => (
          <i key={i} class={i < inUse ? 'slot held' : 'slot'} />
        ))}
      </div>
      <p class="inside" data-fact="inside">
        {words.concurrency.inUse(inUse, limit)}
      </p>
    </>
  )
}
