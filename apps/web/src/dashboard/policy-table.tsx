import { formatCount } from '../format.js'
import { usePage } from '../page-context.js'
import type { PolicyRates } from './live-event.js'
import { history } from './live-source.js'
import { formatRate } from './numbers.js'
import { Sparkline } from './sparkline.js'
import { useHistory } from './use-history.js'
import { Wide } from './wide.js'

const SPARK_MS = 500

/** What each policy lets through and refuses. The one that is chosen is the one in the chart. */
export function PolicyTable({
  policies,
  chosen,
  onChoose,
}: {
  policies: readonly PolicyRates[]
  chosen: string | undefined
  onChoose: (policy: string | undefined) => void
}) {
  const words = usePage().words.dashboard.live
  return (
    <section class="card">
      <div class="card-head">
        <h2>{words.byPolicy}</h2>
        {chosen !== undefined && (
          <button type="button" class="quiet" onClick={() => onChoose(undefined)}>
            {words.showAll}
          </button>
        )}
      </div>
      <Wide label={words.byPolicy}>
        <table class="policy-rates">
          <thead>
            <tr>
              <th scope="col">{words.policy}</th>
              <th scope="col">{words.trend}</th>
              <th scope="col" class="number">
                {`${words.allowed} ${words.perSecond}`}
              </th>
              <th scope="col" class="number">
                {`${words.refused} ${words.perSecond}`}
              </th>
              <th scope="col" class="number">
                {words.total}
              </th>
            </tr>
          </thead>
          <tbody>
            {usedFirst(policies).map((policy) => (
              <tr key={policy.name} class={policy.name === chosen ? 'chosen' : undefined}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    aria-pressed={policy.name === chosen}
                    aria-label={words.show(policy.name)}
                    onClick={() => onChoose(policy.name === chosen ? undefined : policy.name)}
                  >
                    {policy.name}
                  </button>
                </th>
                <td>
                  <Trend policy={policy.name} />
                </td>
                <td class="number" data-fact={`allowed:${policy.name}`}>
                  {formatRate(policy.allowed)}
                </td>
                <td class={policy.refused > 0 ? 'number refused' : 'number'}>{formatRate(policy.refused)}</td>
                <td class="number" data-fact={`total:${policy.name}`}>
                  {formatCount(policy.allowedTotal + policy.refusedTotal)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  )
}

/** Of the built-in ones most are never used. Each moves once at most. */
function usedFirst(policies: readonly PolicyRates[]): PolicyRates[] {
  const isUsed = ({ allowedTotal, refusedTotal }: PolicyRates) => allowedTotal + refusedTotal > 0
  return [...policies.filter(isUsed), ...policies.filter((policy) => !isUsed(policy))]
}

function Trend({ policy }: { policy: string }) {
  return <Sparkline data={useHistory(() => history.rates(policy), SPARK_MS, [policy])} />
}
