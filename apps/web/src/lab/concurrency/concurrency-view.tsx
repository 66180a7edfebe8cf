import { useMemo } from 'preact/hooks'
import { NumberField } from '../../page/number-field.js'
import { usePage } from '../../page/page-context.js'
import { MAX_ARRIVALS } from '../../simulation/arrivals.js'
import { usePlayback } from '../playback/use-playback.js'
import { laneMarks, TimelineFrame } from '../timeline/timeline-frame.js'
import { TRAFFIC_NUMBERS, TrafficField } from '../traffic-field.js'
import { useSettings } from '../use-settings.js'
import {
  averageInFlight,
  CONCURRENCY_NUMBERS,
  CONCURRENCY_TRAFFIC,
  type ConcurrencyNumber,
  type ConcurrencySettings,
  concurrencyScenarioOf,
  readConcurrencySettings,
  writeConcurrencySettings,
} from './concurrency-settings.js'
import { SlotsRow } from './slots-row.js'

/** Requests that take a while, and a limit on how many run at the same time. */
export function Concurrency() {
  const { words } = usePage()
  const [settings, change] = useSettings(readConcurrencySettings, writeConcurrencySettings)
  const scenario = useMemo(() => concurrencyScenarioOf(settings), [settings])
  const playback = usePlayback(scenario)
  return (
    <>
      <ConcurrencyControls settings={settings} change={change} />
      {scenario.isCut && <p class="note">{words.lab.cut(MAX_ARRIVALS)}</p>}
      <TimelineFrame
        scenario={scenario}
        playback={playback}
        headings="h2"
        limit={words.concurrency.limitIs(settings.limit)}
        marks={laneMarks(words, false)}
      >
        {(bins) => <SlotsRow scenario={scenario} bins={bins} playback={playback} />}
      </TimelineFrame>
    </>
  )
}

function ConcurrencyControls({
  settings,
  change,
}: {
  settings: ConcurrencySettings
  change: (changes: Partial<ConcurrencySettings>) => void
}) {
  const { words } = usePage()
  const number = (name: ConcurrencyNumber) => (
    <NumberField
      key={name}
      label={words.concurrency.numbers[name]}
      value={settings[name]}
      min={CONCURRENCY_NUMBERS[name].min}
      max={CONCURRENCY_NUMBERS[name].max}
      hint={name === 'duration' ? `= ${words.format.period(settings.duration)}` : undefined}
      onChange={(value) => change({ [name]: value })}
    />
  )
  const average = averageInFlight(settings)
  return (
    <div class="controls">
      <TrafficField
        value={settings.traffic}
        kinds={CONCURRENCY_TRAFFIC}
        onChange={(traffic) => change({ traffic })}
      />
      <fieldset>
        <legend>{words.compare.settings}</legend>
        <div class="fields">
          {[...TRAFFIC_NUMBERS[settings.traffic], 'duration' as const, 'limit' as const].map(number)}
        </div>
        {average !== undefined && (
          <p class="note" data-fact="average">
            {words.concurrency.average(settings.rate, settings.duration, average)}
          </p>
        )}
      </fieldset>
    </div>
  )
}
