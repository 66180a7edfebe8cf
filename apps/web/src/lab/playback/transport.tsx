import { useEffect } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import { useParam } from '../../page/use-param.js'
import type { Scenario } from '../../simulation/scenario.js'
import { countUpTo } from '../../simulation/times.js'
import { momentText } from './moment-text.js'
import { type Playback, SPEEDS } from './playback.js'
import { useTime } from './use-time.js'

/** Play, pause, step from request to request, and the slider. Its columns are those of the lanes below. */
export function Transport({ scenario, playback }: { scenario: Scenario; playback: Playback }) {
  const { words } = usePage()
  const now = useTime(playback)
  const [speedText, setSpeed] = useParam('speed')
  const speed = SPEEDS.find((one) => String(one) === speedText) ?? 1
  useEffect(() => playback.setSpeed(speed), [playback, speed])
  const { arrivals, spanMs } = scenario
  const stepBack = () => {
    const before = arrivals.findLast((at) => at < now - 1e-6)
    playback.seek(before ?? 0)
  }
  const stepForward = () => playback.seek(arrivals[countUpTo(arrivals, now + 1e-6)] ?? spanMs)
  const text = momentText(scenario, now, words)
  return (
    <fieldset class="transport" aria-label={words.lab.time}>
      <div class="buttons">
        <button
          type="button"
          class="play"
          onClick={() => (playback.isPlaying ? playback.pause() : playback.play())}
          aria-label={playback.isPlaying ? words.lab.pause : words.lab.play}
        >
          <PlayIcon isPlaying={playback.isPlaying} />
        </button>
        <button type="button" class="quiet" onClick={stepBack} aria-label={words.lab.stepBack}>
          <span aria-hidden="true">‹</span>
        </button>
        <button type="button" class="quiet" onClick={stepForward} aria-label={words.lab.stepForward}>
          <span aria-hidden="true">›</span>
        </button>
      </div>
      <div class="slider">
        <input
          type="range"
          min={0}
          max={1000}
          step={1}
          value={Math.round((now / spanMs) * 1000)}
          aria-label={words.lab.time}
          aria-valuetext={text}
          onInput={(event) => playback.seek((Number(event.currentTarget.value) / 1000) * spanMs)}
        />
      </div>
      <div class="clock">
        <output class="moment" data-fact="moment">
          {text}
        </output>
        <select
          aria-label={words.lab.speed}
          value={String(speed)}
          onChange={({ currentTarget: { value } }) => setSpeed(value === '1' ? undefined : value)}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {speed}×
            </option>
          ))}
        </select>
      </div>
    </fieldset>
  )
}

function PlayIcon({ isPlaying }: { isPlaying: boolean }) {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
      <path d={isPlaying ? 'M5 3h3.5v14H5zM11.5 3H15v14h-3.5z' : 'M5 2.5v15l12-7.5z'} fill="currentColor" />
    </svg>
  )
}
