import type { ComponentChildren } from 'preact'
import { usePage } from '../../page/page-context.js'
import { calendarPolicyOf, hasWindows, type Lane, type Scenario } from '../../simulation/scenario.js'
import type { Words } from '../../words/words.js'
import type { Playback } from '../playback/playback.js'
import { LaneRow } from './lane-row.js'
import { laneMarks, type Mark, TimelineFrame } from './timeline-frame.js'

/** All limiters of a scenario on one time axis, with the controls of the clock. */
export function Timeline({
  scenario,
  lanes,
  playback,
  headings,
  arrivals,
}: {
  scenario: Scenario
  lanes: readonly Lane[]
  playback: Playback
  headings: 'h2' | 'h3'
  arrivals?: ComponentChildren
}) {
  const { words } = usePage()
  const { limit } = scenario
  return (
    <TimelineFrame
      scenario={scenario}
      playback={playback}
      headings={headings}
      limit={limit === undefined ? undefined : limitText(scenario, limit, words)}
      marks={marksOf(scenario, lanes, words)}
      arrivals={arrivals}
    >
      {(bins) =>
        lanes.map((lane) => (
          <LaneRow
            key={lane.id}
            scenario={scenario}
            lane={lane}
            bins={bins}
            playback={playback}
            heading={headings}
          />
        ))
      }
    </TimelineFrame>
  )
}

function marksOf(scenario: Scenario, lanes: readonly Lane[], words: Words): readonly Mark[] {
  const { blocked } = words.lab.marks
  const hasBlocks = lanes.some(({ run }) => run.blocks.length > 0)
  return [...laneMarks(words, hasWindows(scenario)), ...(hasBlocks ? [['block', blocked] as const] : [])]
}

function limitText(scenario: Scenario, limit: number, { lab }: Words): string {
  const calendar = calendarPolicyOf(scenario)?.calendar
  return calendar === undefined
    ? lab.limitIs(limit, scenario.windowMs)
    : lab.limitInCalendar(limit, calendar.unit, calendar.timeZone)
}
