import { useEffect, useMemo, useState } from 'preact/hooks'
import { CheckField } from '../../page/check-field.js'
import { ChoiceField } from '../../page/choice-field.js'
import { NumberField } from '../../page/number-field.js'
import { usePage } from '../../page/page-context.js'
import { MAX_ARRIVALS, TRAFFIC_KINDS } from '../../simulation/arrivals.js'
import { lanesOf } from '../../simulation/scenario.js'
import { isCalendarUnit } from '../../simulation/windows.js'
import { usePlayback } from '../playback/use-playback.js'
import { TimeZoneField } from '../time-zone-field.js'
import { Timeline } from '../timeline/timeline.js'
import { WindowCharts } from '../timeline/window-charts.js'
import { TRAFFIC_NUMBERS, TrafficField } from '../traffic-field.js'
import { useSettings } from '../use-settings.js'
import {
  COMPARE_WINDOWS,
  type CompareSettings,
  NO_CELLS,
  NUMBERS,
  type NumberName,
  readSettings,
  STARTS,
  scenarioOf,
  writeSettings,
} from './compare-settings.js'
import { DrawTraffic } from './draw-traffic.js'

/** The same traffic and limits for all five algorithms. */
export function Algorithms() {
  const { words } = usePage()
  const [inAddress, change] = useSettings(readSettings, writeSettings)
  // The address gets the finished drawing, not every step.
  const [drawing, setDrawing] = useState<readonly number[]>()
  const settings = useMemo(
    () => (drawing === undefined ? inAddress : { ...inAddress, cells: drawing }),
    [inAddress, drawing],
  )
  useEffect(() => setDrawing(undefined), [inAddress])

  const scenario = useMemo(() => scenarioOf(settings), [settings])
  const lanes = useMemo(() => lanesOf(scenario), [scenario])
  const playback = usePlayback(scenario)

  const draw =
    settings.traffic === 'drawn' ? (
      <DrawTraffic
        cells={settings.cells}
        spanMs={scenario.spanMs}
        onDraw={(cells, isDone) => (isDone ? change({ cells }) : setDrawing(cells))}
      />
    ) : undefined

  return (
    <>
      <Controls settings={settings} windowMs={scenario.windowMs} change={change} />
      {scenario.isCut && <p class="note">{words.lab.cut(MAX_ARRIVALS)}</p>}
      <Timeline scenario={scenario} lanes={lanes} playback={playback} headings="h2" arrivals={draw} />
      <WindowCharts scenario={scenario} lanes={lanes} playback={playback} />
    </>
  )
}

function Controls({
  settings,
  windowMs,
  change,
}: {
  settings: CompareSettings
  windowMs: number
  change: (changes: Partial<CompareSettings>, isEdit?: boolean) => void
}) {
  const { words } = usePage()
  /** A percentage of the window as a time. */
  const shareText = (name: NumberName) => {
    if (name === 'block' && settings.block === 0) return words.choose.noBlock
    const isShare = name === 'every' || name === 'lead' || name === 'block'
    return isShare ? `= ${words.format.period((settings[name] / 100) * windowMs)}` : undefined
  }
  const number = (name: NumberName) => {
    const { min, max } = NUMBERS[name]
    const isLimitByDefault = name === 'capacity' || name === 'size'
    return (
      <NumberField
        key={name}
        label={words.compare.numbers[name]}
        value={settings[name]}
        min={min}
        max={max}
        hint={isLimitByDefault ? words.compare.sameAsLimit : shareText(name)}
        emptyMeans={isLimitByDefault ? settings.limit : undefined}
        onChange={(value) => change({ [name]: value })}
      />
    )
  }
  return (
    <div class="controls">
      <TrafficField
        value={settings.traffic}
        kinds={TRAFFIC_KINDS}
        onChange={(traffic) => change({ traffic })}
      />
      {settings.traffic === 'drawn' && (
        <button type="button" class="clear" onClick={() => change({ cells: NO_CELLS }, false)}>
          {words.compare.clear}
        </button>
      )}
      <fieldset>
        <legend>{words.compare.settings}</legend>
        <div class="fields">
          {[...TRAFFIC_NUMBERS[settings.traffic]].map(number)}
          {number('limit')}
          <ChoiceField
            label={words.compare.window}
            value={settings.window}
            choices={COMPARE_WINDOWS.map((window) => [window, words.compare.windows[window]])}
            onChange={(window) => change({ window })}
          />
          {isCalendarUnit(settings.window) ? (
            <TimeZoneField value={settings.timeZone} onChange={(timeZone) => change({ timeZone })} />
          ) : (
            <ChoiceField
              label={words.compare.start}
              value={settings.start}
              choices={STARTS.map((start) => [start, words.compare.starts[start]])}
              onChange={(start) => change({ start })}
            />
          )}
          {number('capacity')}
          {number('block')}
          {number('windows')}
          <CheckField
            label={words.compare.countDenied}
            isOn={settings.countDenied}
            onChange={(countDenied) => change({ countDenied })}
          />
        </div>
        <p class="note">{words.compare.policyNote}</p>
      </fieldset>
    </div>
  )
}
