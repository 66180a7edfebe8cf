import type { LiveEvent, PolicyRates } from 'tidegate/dist/live/live-event.js'
import { usePage } from '../../page/page-context.js'
import { ScrollingTable } from '../../page/scrolling-table.js'
import { formatCount } from '../../words/format.js'
import { BreakableName } from '../breakable-name.js'
import { history } from '../service/live-source.js'
import { useHistory } from '../service/use-history.js'
import { formatEventRate } from './numbers.js'
import { Sparkline } from './sparkline.js'

const SPARK_MS = 500

/** Rates and totals by policy. The chosen policy is shown in the chart. */
export function PolicyTable({
  event,
  chosen,
  onChoose,
}: {
  event: LiveEvent
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
      <ScrollingTable label={words.byPolicy}>
        <table class="policy-rates">
          <thead>
            <tr>
              <th scope="col">{words.policy}</th>
              <th scope="col">{words.trend}</th>
              <th scope="col" class="number">
                {words.allowedPerSecond}
              </th>
              <th scope="col" class="number">
                {words.deniedPerSecond}
              </th>
              <th scope="col" class="number">
                {words.total}
              </th>
            </tr>
          </thead>
          <tbody>
            {usedFirst(event.policies).map((policy) => (
              <tr key={policy.name} class={policy.name === chosen ? 'chosen' : undefined}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    aria-pressed={policy.name === chosen}
                    aria-label={words.show(policy.name)}
                    onClick={() => onChoose(policy.name === chosen ? undefined : policy.name)}
                  >
                    <BreakableName name={policy.name} />
                  </button>
                </th>
                <td>
                  <Trend policy={policy.name} />
                </td>
                <td class="number" data-fact={`allowed:${policy.name}`}>
                  {formatEventRate(event, policy.allowed)}
                </td>
                <td class={policy.denied > 0 ? 'number denied' : 'number'}>
                  {formatEventRate(event, policy.denied)}
                </td>
                <td class="number" data-fact={`total:${policy.name}`}>
                  {formatCount(policy.allowedTotal + policy.deniedTotal)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
    </section>
  )
}

/** Most built-in policies are never used. A policy moves up once, with its first check. */
function usedFirst(policies: readonly PolicyRates[]): PolicyRates[] {
  const isUsed = ({ allowedTotal, deniedTotal }: PolicyRates) => allowedTotal + deniedTotal > 0
  return [...policies.filter(isUsed), ...policies.filter((policy) => !isUsed(policy))]
}

function Trend({ policy }: { policy: string }) {
  return <Sparkline data={useHistory(() => history.rates(policy), SPARK_MS, [policy])} />
}
