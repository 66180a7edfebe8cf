import { useMemo } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import type { Bins } from '../../simulation/bins.js'
import { windowBound } from '../../simulation/most-admitted.js'
import { type Lane, type Scenario, windowStartsOf } from '../../simulation/scenario.js'
import { usedIn } from '../../simulation/state.js'
import { countUpTo, worstWindowSoFar } from '../../simulation/times.js'
import type { Words } from '../../words/words.js'
import type { Playback } from '../playback/playback.js'
import { useTime } from '../playback/use-time.js'
import { Counts, Most } from './facts.js'
import { type ChartedLane, LaneChart } from './lane-chart.js'
import { LaneSection } from './lane-section.js'
import { StatePicture } from './state-picture.js'

/** One limiter: its counts so far, its chart, and its current state. */
export function LaneRow({
  scenario,
  lane,
  bins,
  playback,
  heading,
}: {
  scenario: Scenario
  lane: Lane
  bins: Bins
  playback: Playback
  heading: 'h2' | 'h3'
}) {
  const { words } = usePage()
  const { limit, windowMs, spanMs } = scenario
  const { admittedMs } = lane.run
  const name = words.algorithms[lane.kind]
  const worst = useMemo(() => worstWindowSoFar(admittedMs, windowMs), [admittedMs, windowMs])
  const charted = useMemo(() => chartedLane(scenario, lane, words), [scenario, lane, words])
  return (
    <LaneSection
      id={lane.id}
      title={lane.isNaive ? words.lab.naive(name) : name}
      swatch={lane.kind}
      heading={heading}
      facts={
        <>
          <Counts run={lane.run} playback={playback} />
          {limit !== undefined && (
            <Most
              mostAt={(at) => worst[countUpTo(admittedMs, at) - 1] ?? 0}
              limit={windowBound(lane.run.stateAt(0), limit)}
              scale={2 * limit}
              text={words.lab.worst[lane.kind]}
              playback={playback}
            />
          )}
        </>
      }
      state={<State lane={lane} playback={playback} />}
    >
      <LaneChart spanMs={spanMs} lane={charted} bins={bins} playback={playback} />
    </LaneSection>
  )
}

export function chartedLane(scenario: Scenario, lane: Lane, { lab, algorithms }: Words): ChartedLane {
  const { kind, run } = lane
  const first = run.stateAt(0)
  const full = 'capacity' in first ? first.capacity : first.limit
  const usedAt = (at: number) => usedIn(run.stateAt(at))
  return {
    algorithm: kind,
    label: lab.laneChart(algorithms[kind]),
    atMs: run.atMs,
    admittedMs: run.admittedMs,
    // The token bucket shows the tokens left, the others the used units.
    levelAt: kind === 'token-bucket' ? (at) => full - usedAt(at) : usedAt,
    levelLabel: lab.levels[kind],
    full,
    windowStartsMs: windowStartsOf(scenario, lane),
    blocks: run.blocks,
  }
}

/** The state of one limiter at the current time, as a picture and a text. */
export function State({ lane: { run }, playback }: { lane: Lane; playback: Playback }) {
  const { words } = usePage()
  const state = run.stateAt(useTime(playback))
  return (
    <>
      <StatePicture stateAt={run.stateAt} playback={playback} />
      <p class="inside" data-fact="inside">
        {state.blockedMs > 0 && <b class="blocked">{words.lab.blockedFor(state.blockedMs)}</b>}
        {words.lab.inside(state)}
      </p>
    </>
  )
}
