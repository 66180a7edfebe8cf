import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { usePage } from '../../page/page-context.js'
import { formatCount } from '../../words/format.js'
import { formatEventRate } from './numbers.js'

/** Rates, totals and latency of all policies. */
export function Tiles({ event }: { event: LiveEvent }) {
  const { dashboard, format } = usePage().words
  const words = dashboard.live
  const { total, checkMs } = event
  const latency = (ms: number | undefined) => (ms === undefined ? '–' : format.duration(ms))
  // Checks without the store are faster, which must not look like an improvement.
  const measured = event.state === 'store-down' ? words.withoutStore : words.checkLatency
  // The first event has no latency either, whether there are checks or not.
  const latencyNote = checkMs === null && event.seconds > 0 ? words.noChecks : measured
  return (
    <dl class="tiles">
      <Tile
        label={words.allowed}
        value={formatEventRate(event, total.allowed)}
        unit={words.perSecond}
        fact="allowed"
      >
        {`${words.total} ${formatCount(total.allowedTotal)}`}
      </Tile>
      <Tile
        label={words.denied}
        value={formatEventRate(event, total.denied)}
        unit={words.perSecond}
        fact="denied"
        isDenied={total.denied > 0}
      >
        {`${words.total} ${formatCount(total.deniedTotal)}`}
      </Tile>
      <Tile label={words.p50} value={latency(checkMs?.p50)} fact="p50">
        {latencyNote}
      </Tile>
      <Tile label={words.p99} value={latency(checkMs?.p99)} fact="p99">
        {latencyNote}
      </Tile>
    </dl>
  )
}

function Tile({
  label,
  value,
  unit,
  fact,
  isDenied = false,
  children,
}: {
  label: string
  value: string
  unit?: string
  fact: string
  isDenied?: boolean
  children: string
}) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd class={isDenied ? 'big denied' : 'big'}>
        <span data-fact={fact}>{value}</span>
        {unit !== undefined && <small class="unit"> {unit}</small>}
      </dd>
      <dd class="note">{children}</dd>
    </div>
  )
}
