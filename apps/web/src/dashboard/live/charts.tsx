import { usePage } from '../../page/page-context.js'
import { history } from '../service/live-source.js'
import { useHistory } from '../service/use-history.js'
import { type LineStyle, LinesChart } from './lines-chart.js'
import { formatRate } from './numbers.js'

const RATES: readonly [LineStyle, LineStyle] = [
  { colour: 'accent', isFilled: true },
  { colour: 'denied', dash: [6, 3] },
]
const LATENCIES: readonly [LineStyle, LineStyle] = [
  { colour: 'accent' },
  { colour: 'leaky-bucket', dash: [6, 3] },
]

/** Rates of one policy or of all, and the latency of all checks. */
export function Charts({ policy }: { policy: string | undefined }) {
  const words = usePage().words.dashboard.live
  return (
    <div class="two">
      <figure>
        <figcaption>
          {words.ratesOf(policy ?? words.allPolicies)}
          <Legend
            entries={[
              ['accent', words.allowed],
              ['denied', words.denied],
            ]}
          />
        </figcaption>
        <RatesChart policy={policy} />
      </figure>
      <figure>
        <figcaption>
          {words.checkLatency}
          <Legend
            entries={[
              ['accent', 'p50'],
              ['leaky-bucket', 'p99'],
            ]}
          />
        </figcaption>
        <LatencyChart />
      </figure>
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
  return (
    <LinesChart
      data={data}
      styles={RATES}
      names={[words.allowed, words.denied]}
      label={words.ratesChart}
      format={formatRate}
    />
  )
}

function LatencyChart() {
  const { dashboard, format } = usePage().words
  const data = useHistory(() => history.latencies(), 0, [])
  return (
    <LinesChart
      data={data}
      styles={LATENCIES}
      names={['p50', 'p99']}
      label={dashboard.live.latencyChart}
      format={format.duration}
      isLog
    />
  )
}
