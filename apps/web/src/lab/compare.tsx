import { useEffect, useMemo, useState } from 'preact/hooks'
import { formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import { MAX_ARRIVALS, TRAFFIC_KINDS } from './arrivals.js'
import {
  type CompareSettings,
  NUMBERS,
  type NumberName,
  readSettings,
  scenarioOf,
  WINDOWS,
  writeSettings,
} from './compare-settings.js'
import { DrawTraffic } from './draw-traffic.js'
import { NumberField } from './number-field.js'
import { lanesOf } from './scenario.js'
import { Timeline } from './timeline.js'
import { usePlayback } from './use-playback.js'
import { WindowCharts } from './window-charts.js'

/** What is in the address too, whatever the settings are. */
const LOOKS: readonly string[] = ['lang', 'speed', 'hide']

/** The same traffic and the same numbers for all five algorithms. */
export function Compare() {
  const { words, place, go } = usePage()
  const key = [...place.params].filter(([name]) => name !== 't' && !LOOKS.includes(name)).join('&')
  // The time and the looks change nothing here
  const inAddress = useMemo(() => readSettings(place.params), [key])
  // While the visitor draws, the address stays: it gets the finished drawing.
  const [drawing, setDrawing] = useState<readonly number[]>()
  const settings = useMemo(
    () => (drawing === undefined ? inAddress : { ...inAddress, cells: drawing }),
    [inAddress, drawing],
  )
  useEffect(() => setDrawing(undefined), [inAddress])

  const scenario = useMemo(() => scenarioOf(settings), [settings])
  const lanes = useMemo(() => lanesOf(scenario), [scenario])
  const playback = usePlayback(scenario)

  const change = (changes: Partial<CompareSettings>) => {
    const params = writeSettings({ ...settings, ...changes })
    for (const name of LOOKS) {
      const value = place.params.get(name)
      if (value !== undefined) params.set(name, value)
    }
    go({ view: 'compare', params })
  }
  const draw =
    settings.traffic === 'drawn' ? (
      <DrawTraffic
        cells={settings.cells}
        spanMs={scenario.spanMs}
        onDraw={(cells, isDone) => (isDone ? change({ cells }) : setDrawing(cells))}
      />
    ) : undefined

  return (
    <div class="view compare">
      <h1>{words.compare.title}</h1>
      <p class="lead">{words.compare.lead}</p>
      <Controls settings={settings} windowMs={scenario.windowMs} change={change} />
      {scenario.isCut && <p class="note">{words.lab.cut(MAX_ARRIVALS)}</p>}
      <Timeline scenario={scenario} lanes={lanes} playback={playback} arrivals={draw} />
      <WindowCharts scenario={scenario} lanes={lanes} playback={playback} />
    </div>
  )
}

/** Which numbers each kind of traffic has. */
const TRAFFIC_NUMBERS: Record<CompareSettings['traffic'], readonly NumberName[]> = {
  steady: ['rate'],
  bursts: ['size', 'every'],
  boundary: ['size', 'lead'],
  ramp: ['rate'],
  random: ['rate', 'seed'],
  drawn: [],
}

function Controls({
  settings,
  windowMs,
  change,
}: {
  settings: CompareSettings
  windowMs: number
  change: (changes: Partial<CompareSettings>) => void
}) {
  const { words } = usePage()
  const number = (name: NumberName) => {
    const { min, max } = NUMBERS[name]
    const isShare = name === 'every' || name === 'lead'
    const hint = isShare
      ? `= ${formatDuration((settings[name] / 100) * windowMs)}`
      : min === 0 && settings[name] === 0
        ? words.compare.sameAsLimit
        : undefined
    return (
      <NumberField
        key={name}
        label={words.compare.numbers[name]}
        value={settings[name]}
        min={min}
        max={max}
        hint={hint}
        onChange={(value) => change({ [name]: value })}
      />
    )
  }
  return (
    <div class="controls">
      <fieldset>
        <legend>{words.compare.traffic}</legend>
        <div class="segments">
          {TRAFFIC_KINDS.map((kind) => (
            <label key={kind}>
              <input
                type="radio"
                name="traffic"
                checked={settings.traffic === kind}
                onChange={() => change({ traffic: kind })}
              />
              <span>{words.compare.kinds[kind]}</span>
            </label>
          ))}
        </div>
        <p class="note">{words.compare.kindNotes[settings.traffic]}</p>
      </fieldset>
      <fieldset>
        <legend>{words.compare.policy}</legend>
        <div class="fields">
          {TRAFFIC_NUMBERS[settings.traffic].map(number)}
          {number('limit')}
          <label class="field">
            <span>{words.compare.window}</span>
            <select
              value={settings.window}
              onChange={(event) => {
                const chosen = WINDOWS.find((window) => window === event.currentTarget.value)
                if (chosen !== undefined) change({ window: chosen })
              }}
            >
              {WINDOWS.map((window) => (
                <option key={window} value={window}>
                  {words.compare.windows[window]}
                </option>
              ))}
            </select>
          </label>
          {number('capacity')}
          {number('windows')}
        </div>
      </fieldset>
    </div>
  )
}
