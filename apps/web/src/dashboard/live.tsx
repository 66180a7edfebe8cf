import { useEffect, useState } from 'preact/hooks'
import { formatCount, formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import { KeyList } from './key-list.js'
import { type LineStyle, LinesChart } from './lines-chart.js'
import type { LiveEvent } from './live-event.js'
import { type Connection, history, listen } from './live-source.js'
import { formatRate, formatTick } from './numbers.js'
import { PolicyTable } from './policy-table.js'
import { useSession, WithSession } from './session.js'
import { StoreCards } from './store-cards.js'
import { useHistory } from './use-history.js'

/** Numbers that change faster cannot be read. */
const TEXT_MS = 250

const RATES: readonly [LineStyle, LineStyle] = [
  { colour: 'accent', isFilled: true },
  { colour: 'refused', dash: [6, 3] },
]
const TIMES: readonly [LineStyle, LineStyle] = [
  { colour: 'accent' },
  { colour: 'leaky-bucket', dash: [6, 3] },
]

export function Live() {
  return (
    <WithSession>
      <LiveView />
    </WithSession>
  )
}

function LiveView() {
  const { words: all } = usePage()
  const words = all.dashboard.live
  const { token, refused } = useSession()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => listen({ token, onConnection: setConnection, onRefused: refused }), [token, refused])
  const event = useHistory(() => history.last, TEXT_MS, [])
  const [chosen, setChosen] = useState<string>()
  const policy = event?.policies.some(({ name }) => name === chosen) ? chosen : undefined

  return (
    <div class={connection === 'live' ? 'dashboard' : 'dashboard old'}>
      <h1>{words.title}</h1>
      <StateLine event={event} connection={connection} />
      {event !== undefined && (
        <>
          <Tiles event={event} />
          <div class="two">
            <figure>
              <figcaption>
                {words.ratesOf(policy ?? words.allPolicies)}
                <Legend
                  entries={[
                    ['accent', words.allowed],
                    ['refused', words.refused],
                  ]}
                />
              </figcaption>
              <RatesChart policy={policy} />
            </figure>
            <figure>
              <figcaption>
                {words.times}
                <Legend
                  entries={[
                    ['accent', 'p50'],
                    ['leaky-bucket', 'p99'],
                  ]}
                />
              </figcaption>
              <TimesChart />
            </figure>
          </div>
          <PolicyTable policies={event.policies} chosen={policy} onChoose={setChosen} />
          <div class="two keys">
            <KeyList title={words.busiest} keys={event.busiest} />
            <KeyList title={words.mostRefused} keys={event.refused} isRefused />
          </div>
          <StoreCards event={event} />
        </>
      )}
    </div>
  )
}

/** How things are, in plain words. */
function StateLine({ event, connection }: { event: LiveEvent | undefined; connection: Connection }) {
  const words = usePage().words.dashboard.live
  const isLive = connection === 'live' && event !== undefined
  const text = isLive
    ? [words.states[event.state], event.state === 'store-down' ? meanwhile(event, words) : '']
        .join(' ')
        .trim()
    : { connecting: words.connecting, live: words.connecting, lost: words.reconnecting, full: words.full }[
        connection
      ]
  return (
    <p class={`state-line ${isLive ? event.state : 'waiting'}`} role="status" data-fact="state">
      <i aria-hidden="true" />
      {text}
    </p>
  )
}

/** What the policies do while the store does not answer. */
function meanwhile(
  event: LiveEvent,
  words: ReturnType<typeof usePage>['words']['dashboard']['live'],
): string {
  const modes = (['open', 'local', 'closed'] as const).flatMap((mode) => {
    const names = event.policies.filter((policy) => policy.onStoreFailure === mode).map(({ name }) => name)
    if (names.length === 0) return []
    const who = names.length === event.policies.length ? words.allPolicies : names.join(', ')
    return [words.mode(words.modes[mode], who)]
  })
  return words.meanwhile(modes.join('; '))
}

function Tiles({ event }: { event: LiveEvent }) {
  const words = usePage().words.dashboard.live
  const { total, checkMs } = event
  const time = (ms: number | undefined) => (ms === undefined ? '–' : formatDuration(ms))
  return (
    <dl class="tiles">
      <Tile label={words.allowed} value={formatRate(total.allowed)} unit={words.perSecond} fact="allowed">
        {`${words.total} ${formatCount(total.allowedTotal)}`}
      </Tile>
      <Tile
        label={words.refused}
        value={formatRate(total.refused)}
        unit={words.perSecond}
        fact="refused"
        isRefused={total.refused > 0}
      >
        {`${words.total} ${formatCount(total.refusedTotal)}`}
      </Tile>
      <Tile label={words.p50} value={time(checkMs?.p50)} fact="p50">
        {checkMs === null ? words.noChecks : 'p50'}
      </Tile>
      <Tile label={words.p99} value={time(checkMs?.p99)} fact="p99">
        {checkMs === null ? words.noChecks : 'p99'}
      </Tile>
    </dl>
  )
}

function Tile({
  label,
  value,
  unit,
  fact,
  isRefused = false,
  children,
}: {
  label: string
  value: string
  unit?: string
  fact: string
  isRefused?: boolean
  children: string
}) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd class={isRefused ? 'big refused' : 'big'}>
        <span data-fact={fact}>{value}</span>
        {unit !== undefined && <small class="unit"> {unit}</small>}
      </dd>
      <dd class="note">{children}</dd>
    </div>
  )
}

function Legend({ entries }: { entries: readonly (readonly [colour: string, label: string])[] }) {
  return (
    <span class="line-legend">
      {entries.map(([colour, label], i) => (
        <span key={label}>
          <i class={`line ${colour}${i > 0 ? ' dashed' : ''}`} aria-hidden="true" />
          {label}
        </span>
      ))}
    </span>
  )
}

function RatesChart({ policy }: { policy: string | undefined }) {
  const words = usePage().words.dashboard.live
  const data = useHistory(() => history.rates(policy), 0, [policy])
  return <LinesChart data={data} styles={RATES} label={words.ratesChart} format={formatRate} />
}

function TimesChart() {
  const words = usePage().words.dashboard.live
  const data = useHistory(() => history.times(), 0, [])
  return <LinesChart data={data} styles={TIMES} label={words.timesChart} format={formatTick} isLog />
}
