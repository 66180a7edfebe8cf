import { useMemo } from 'preact/hooks'
import type uPlot from 'uplot'
import { Chart } from '../chart.js'
import { colour } from '../colours.js'
import { formatCount, formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import { algorithmOf } from './algorithm.js'
import { type KeyState, MINUTE_MS, nextMinute } from './key-state.js'

/** A key under one policy: what it has, and what it will have. */
export function KeyCard({ state, onTry }: { state: KeyState; onTry: () => void }) {
  const { words: all } = usePage()
  const words = all.dashboard.key
  const { policy, algorithm, limit, remaining } = state
  const kind = algorithmOf(algorithm)
  return (
    <section class="card key-card" aria-label={policy}>
      <div class="card-head">
        <h3>
          <i class={`swatch ${kind}`} aria-hidden="true" />
          {policy}
        </h3>
        <span class="note">{all.algorithms[kind]}</span>
      </div>
      <p class="level" data-fact={`remaining:${policy}`}>
        {remaining === null ? words.unknown : words.remaining(formatCount(remaining), formatCount(limit))}
      </p>
      <p class={state.allowed ? 'note' : 'problem'}>{stateText(state, words)}</p>
      {remaining !== null && state.resetAfterMs > 0 && <NextMinute state={state} />}
      <button type="button" aria-label={words.tryIn(policy)} onClick={onTry}>
        {words.try}
      </button>
    </section>
  )
}

function stateText(
  { allowed, remaining, retryAfterMs, resetAfterMs }: KeyState,
  words: ReturnType<typeof usePage>['words']['dashboard']['key'],
): string {
  if (remaining === null) return '–'
  if (!allowed) return words.refusing(formatDuration(retryAfterMs))
  return resetAfterMs === 0 ? words.untouched : words.fullIn(formatDuration(resetAfterMs))
}

function NextMinute({ state }: { state: KeyState }) {
  const { words, theme } = usePage()
  const kind = algorithmOf(state.algorithm)
  const { limit } = state
  // A chart takes its colours when it is made
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
        { ...axis, size: 22, splits: () => [15, 30, 45], values: (_, at) => at.map((s) => `+${s} s`) },
        { ...axis, size: 40, splits: () => [0, limit], values: (_, at) => at.map(formatCount) },
      ],
      scales: {
        x: { time: false, range: () => [0, MINUTE_MS / 1000] },
        y: { range: () => [0, limit * 1.08] },
      },
      series: [{}, { stroke: colour(kind), fill: `${colour(kind)}1c`, width: 2, points: { show: false } }],
    }
  }, [limit, kind, theme])
  const data = useMemo((): uPlot.AlignedData => nextMinute(state), [state])
  return (
    <div>
      <p class="note">{words.dashboard.key.nextMinute}</p>
      <Chart options={options} data={data} height={110} label={words.dashboard.key.chart(state.policy)} />
    </div>
  )
}
