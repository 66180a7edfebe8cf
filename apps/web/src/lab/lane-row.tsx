import { useMemo } from 'preact/hooks'
import { usePage } from '../page-context.js'
import { LaneChart } from './lane-chart.js'
import type { Playback } from './playback.js'
import type { Lane, Scenario } from './scenario.js'
import { StatePicture } from './state-picture.js'
import { countUpTo, worstWindow } from './times.js'
import { useTime } from './use-time.js'

/** One limiter: what it let in so far, its chart, and what is inside at the moment. */
export function LaneRow({
  scenario,
  lane,
  playback,
}: {
  scenario: Scenario
  lane: Lane
  playback: Playback
}) {
  const { words } = usePage()
  const name = words.algorithms[lane.kind]
  return (
    <section class="lane" data-lane={lane.id} aria-label={lane.isNaive ? words.lab.naive(name) : name}>
      <div class="lane-facts">
        <h3>
          <i class={`swatch ${lane.kind}`} aria-hidden="true" />
          {lane.isNaive ? words.lab.naive(name) : name}
        </h3>
        <Counts lane={lane} playback={playback} />
        {scenario.limit !== undefined && (
          <Worst windowMs={scenario.windowMs} limit={scenario.limit} lane={lane} />
        )}
      </div>
      <LaneChart scenario={scenario} lane={lane} playback={playback} />
      <div class="lane-state">
        <StatePicture stateAt={lane.run.stateAt} playback={playback} />
        <Inside lane={lane} playback={playback} />
      </div>
    </section>
  )
}

function Counts({ lane: { run }, playback }: { lane: Lane; playback: Playback }) {
  const { words } = usePage()
  const now = useTime(playback)
  const allowed = countUpTo(run.admittedMs, now)
  const refused = countUpTo(run.atMs, now) - allowed
  return (
    <p class="counts">
      <span class="allowed">
        <b data-fact="allowed">{allowed}</b> {words.lab.allowed}
      </span>
      <span class="refused">
        <b data-fact="refused">{refused}</b> {words.lab.refused}
      </span>
    </p>
  )
}

/** The most that was let in within one window, wherever that is laid, against the limit. */
function Worst({ windowMs, limit, lane }: { windowMs: number; limit: number; lane: Lane }) {
  const { words } = usePage()
  const { count } = useMemo(() => worstWindow(lane.run.admittedMs, windowMs), [lane, windowMs])
  const most = Math.max(2 * limit, count)
  const share = (value: number) => `${(100 * value) / most}%`
  return (
    <div class={count > limit ? 'worst over' : 'worst'}>
      <span class="bullet" aria-hidden="true">
        <span class="bullet-bar" style={{ width: share(count) }} />
        <span class="bullet-limit" style={{ left: share(limit) }} />
      </span>
      <span data-fact="worst">{words.lab.worst(count, limit)}</span>
    </div>
  )
}

function Inside({ lane, playback }: { lane: Lane; playback: Playback }) {
  const { words } = usePage()
  const now = useTime(playback)
  return (
    <p class="inside" data-fact="inside">
      {words.lab.inside(lane.run.stateAt(now))}
    </p>
  )
}
