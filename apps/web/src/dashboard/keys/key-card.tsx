import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { Chart } from '../../page/chart.js'
import { colour } from '../../page/colours.js'
import { usePage } from '../../page/page-context.js'
import { formatCount } from '../../words/format.js'
import { algorithmOf } from '../service/algorithm.js'
import { forecastAxis, forecastLine, type KeyState } from './key-state.js'

/** The state of a key in one policy, with a forecast. */
export function KeyCard({ state, onCheck }: { state: KeyState; onCheck: () => void }) {
  const { words: all } = usePage()
  const words = all.dashboard.key
  const { policy, algorithm, limit, remaining } = state
  const kind = algorithmOf(algorithm)
  const hasSlots = kind === 'concurrency'
  const left = hasSlots ? words.slots : words.remaining
  return (
    <section class="card key-card" aria-label={policy}>
      <div class="card-head">
        <h3>
          <i class={`swatch ${kind}`} aria-hidden="true" />
          {policy}
        </h3>
        <span class="note">{all.algorithms[kind]}</span>
      </div>
      <p class={remaining === null ? 'note' : 'level'} data-fact={`remaining:${policy}`}>
        {remaining === null ? words.unknown : left(formatCount(remaining), formatCount(limit))}
      </p>
      {remaining !== null && <p class={state.allowed ? 'note' : 'problem'}>{stateText(state, words)}</p>}
      {remaining !== null && state.resetAfterMs > 0 && !hasSlots && <Forecast state={state} />}
      {/* A check could not release its slot. */}
      {!hasSlots && (
        <button type="button" aria-label={words.checkIn(policy)} onClick={onCheck}>
          {words.check}
        </button>
      )}
    </section>
  )
}

function stateText(
  { algorithm, allowed, retryAfterMs, resetAfterMs, reason }: KeyState,
  words: ReturnType<typeof usePage>['words']['dashboard']['key'],
): string {
  if (reason === 'blocked') return words.blocked(retryAfterMs)
  if (algorithmOf(algorithm) === 'concurrency' && resetAfterMs > 0) {
    return allowed ? words.slotsUsed : words.slotsTaken
  }
  if (!allowed) return words.overLimit(retryAfterMs)
  return resetAfterMs === 0 ? words.unused : words.fullIn(resetAfterMs)
}

/** The remaining units without further requests, until the key is fully restored. */
function Forecast({ state }: { state: KeyState }) {
  const { words, theme } = usePage()
  const kind = algorithmOf(state.algorithm)
  const { limit, resetAfterMs } = state
  const { spanMs, stepMs } = forecastAxis(resetAfterMs)
  // A chart reads its colours when it is created, so it depends on the theme.
  const options = useMemo((): Omit<uPlot.Options, 'width' | 'height'> => {
    const axis = {
      stroke: colour('muted'),
      font: '11px system-ui, sans-serif',
      grid: { stroke: colour('line'), width: 1 },
      ticks: { show: false },
      gap: 4,
    }
    return {
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      axes: [
        {
          ...axis,
          size: 22,
          splits: () => Array.from({ length: Math.ceil(spanMs / stepMs) - 1 }, (_, i) => (i + 1) * stepMs),
          values: (_, at) => at.map((ms) => `+${words.format.period(ms)}`),
        },
        { ...axis, size: 40, splits: () => [0, limit], values: (_, at) => at.map(formatCount) },
      ],
      scales: {
        x: { time: false, range: () => [0, spanMs] },
        y: { range: () => [0, limit * 1.08] },
      },
      series: [{}, { stroke: colour(kind), fill: `${colour(kind)}1c`, width: 2, points: { show: false } }],
    }
  }, [limit, kind, spanMs, stepMs, words, theme])
  const data = useMemo((): uPlot.AlignedData => forecastLine(state, spanMs), [state, spanMs])
  return (
    <div>
      <p class="note">{words.dashboard.key.forecast(spanMs)}</p>
      <Chart options={options} data={data} height={110} label={words.dashboard.key.chart(state.policy)} />
    </div>
  )
}
