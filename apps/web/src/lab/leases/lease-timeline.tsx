import { useMemo } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import type { LeaseRun } from '../../simulation/leases.js'
import { hasWindows, type Lane, windowStartsOf } from '../../simulation/scenario.js'
import { simulate } from '../../simulation/simulate.js'
import { valueAt } from '../../simulation/steps.js'
import type { Playback } from '../playback/playback.js'
import { usePlayback } from '../playback/use-playback.js'
import { useTime } from '../playback/use-time.js'
import { Counts } from '../timeline/facts.js'
import { type ChartedLane, LaneChart } from '../timeline/lane-chart.js'
import { chartedLane, State } from '../timeline/lane-row.js'
import { LaneSection } from '../timeline/lane-section.js'
import { laneMarks, TimelineFrame } from '../timeline/timeline-frame.js'
import { CallsRow } from './calls-row.js'
import { HandsRow } from './hands-row.js'
import type { LeaseScenario } from './lease-settings.js'
import { LimitHeld } from './limit-held.js'

/** The limiter without a lease, then with one: its store calls, and the units in the hands of each process. */
export function LeaseTimeline({ scenario, leased }: { scenario: LeaseScenario; leased: LeaseRun }) {
  const { words } = usePage()
  const playback = usePlayback(scenario)
  const { spanMs, limit, windowMs, policies } = scenario
  const [exactPolicy, policy] = policies
  const exact = useMemo((): Lane => {
    const run = simulate(exactPolicy, scenario.originMs, scenario.arrivals)
    return { id: 'exact', kind: exactPolicy.algorithm, isNaive: false, run }
  }, [scenario])
  const exactCharted = useMemo(() => chartedLane(scenario, exact, words), [scenario, exact, words])
  const charted = useMemo(
    (): ChartedLane => ({
      ...exactCharted,
      ...leasedLevel(leased, exactCharted.algorithm, policy.limit),
      admittedMs: leased.admittedMs,
      windowStartsMs: windowStartsOf(scenario, exact),
    }),
    [scenario, exactCharted, leased],
  )
  const lanes = [
    {
      id: 'exact',
      title: words.leases.exact,
      chart: exactCharted,
      state: <State lane={exact} playback={playback} />,
    },
    {
      id: 'leased',
      title: words.leases.leased,
      chart: charted,
      state: <InStore leased={leased} playback={playback} />,
    },
  ]
  return (
    <TimelineFrame
      scenario={scenario}
      playback={playback}
      headings="h2"
      limit={words.lab.limitIs(limit, windowMs)}
      marks={[
        ...laneMarks(words, hasWindows(scenario)),
        ['outlined', words.leases.checks],
        ['bar calls', words.leases.calls],
      ]}
    >
      {(bins) => (
        <>
          {lanes.map(({ id, title, chart, state }) => (
            <LaneSection
              key={id}
              id={id}
              title={title}
              swatch={chart.algorithm}
              heading="h2"
              facts={
                <>
                  <Counts run={chart} playback={playback} />
                  <LimitHeld scenario={scenario} admittedMs={chart.admittedMs} playback={playback} />
                </>
              }
              state={state}
            >
              <LaneChart spanMs={spanMs} lane={chart} bins={bins} playback={playback} />
            </LaneSection>
          ))}
          <CallsRow scenario={scenario} leased={leased} bins={bins} playback={playback} />
          <HandsRow scenario={scenario} leased={leased} playback={playback} />
        </>
      )}
    </TimelineFrame>
  )
}

/** The state in the store: tokens left in a bucket, else the used units, which include units in hand. */
function leasedLevel({ left }: LeaseRun, algorithm: ChartedLane['algorithm'], limit: number) {
  const leftAt = (at: number) => valueAt(left, at)
  return { levelAt: algorithm === 'token-bucket' ? leftAt : (at: number) => limit - leftAt(at), full: limit }
}

function InStore({ leased, playback }: { leased: LeaseRun; playback: Playback }) {
  const { words } = usePage()
  const now = useTime(playback)
  const inHand = leased.inHand.reduce((sum, steps) => sum + valueAt(steps, now), 0)
  return (
    <dl class="units">
      <div>
        <dt>{words.leases.inStore}</dt>
        <dd data-fact="in-store">{valueAt(leased.left, now)}</dd>
      </div>
      <div>
        <dt>{words.leases.inHand}</dt>
        <dd data-fact="in-hand">{inHand}</dd>
      </div>
    </dl>
  )
}
