import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { usePage } from '../../page/page-context.js'
import { formatCount } from '../../words/format.js'
import { storeName } from '../service/store-name.js'

/** The state of the store, and the instances that share it. */
export function StoreCards({ event }: { event: LiveEvent }) {
  const { dashboard } = usePage().words
  const words = dashboard.live
  const { store, breaker, instances, degraded, processes, timeMs } = event
  const { open, closed, local } = degraded.totals
  return (
    <div class="two">
      <section class="card">
        <h2>{words.store}</h2>
        <dl class="facts">
          <dt>{storeName(store.kind, dashboard)}</dt>
          <dd data-fact="store">
            <span class={store.isUp ? 'good' : 'bad'}>{store.isUp ? words.storeUp : words.storeDown}</span>
            {store.isUp && `, ${words.respondsIn(store.latencyMs)}`}
            <small class="more">{words.storeErrors(formatCount(store.errors))}</small>
          </dd>
          <dt>{words.breaker}</dt>
          <dd data-fact="breaker">{words.breakers[breaker]}</dd>
          <dt>{words.withoutStore}</dt>
          <dd>{words.withoutStoreCounts(formatCount(open), formatCount(closed), formatCount(local))}</dd>
        </dl>
      </section>
      <section class="card">
        <h2 data-fact="instances">
          {instances.length === 0 ? words.unknownInstances : words.instances(instances.length)}
        </h2>
        {instances.length === 0 && <p class="note">{words.noInstances}</p>}
        <ul class="instances">
          {instances.map(({ id, host, pid, version, startedMs }) => (
            <li key={id}>
              <b>{`${host}:${pid}`}</b>
              <span class="note">{`v${version}`}</span>
              <span class="note">{words.uptime(Math.max(0, timeMs - startedMs))}</span>
              {id === event.instance && <span class="tag">{words.thisInstance}</span>}
            </li>
          ))}
        </ul>
        {processes > 1 && <p class="note">{words.processes(processes)}</p>}
      </section>
    </div>
  )
}
