import { usePage } from '../../page/page-context.js'
import { countUpTo } from '../../simulation/times.js'
import { formatCount } from '../../words/format.js'
import type { Playback } from '../playback/playback.js'
import { useTime } from '../playback/use-time.js'

/** The allowed and denied requests up to the current time. */
export function Counts({
  run: { atMs, admittedMs },
  playback,
}: {
  run: { readonly atMs: readonly number[]; readonly admittedMs: readonly number[] }
  playback: Playback
}) {
  const { words } = usePage()
  const now = useTime(playback)
  const allowed = countUpTo(admittedMs, now)
  const denied = countUpTo(atMs, now) - allowed
  return (
    <p class="counts">
      <span class="allowed">
        <b data-fact="allowed">{formatCount(allowed)}</b> {words.lab.allowed}
      </span>
      <span class="denied">
        <b data-fact="denied">{formatCount(denied)}</b> {words.lab.denied}
      </span>
    </p>
  )
}

/** The most that was counted up to the current time, compared with the limit. */
export function Most({
  mostAt,
  limit,
  scale = 2 * limit,
  text,
  playback,
}: {
  /** Grows with time. */
  mostAt: (atMs: number) => number
  limit: number
  /** The end of the bar, if nothing exceeds it. Equal scales make bars comparable. */
  scale?: number
  text: (count: number, limit: number) => string
  playback: Playback
}) {
  const count = mostAt(useTime(playback))
  const top = Math.max(scale, limit, mostAt(playback.spanMs))
  const share = (value: number) => `${(100 * value) / top}%`
  return (
    <div class={count > limit ? 'worst over' : 'worst'}>
      <span class="bullet" aria-hidden="true">
        <span class="bullet-bar" style={{ width: share(count) }} />
        <span class="bullet-limit" style={{ left: share(limit) }} />
      </span>
      <span data-fact="worst">{text(count, limit)}</span>
    </div>
  )
}
