import { formatCount, formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import type { LiveEvent } from './live-event.js'

/** Where counts are kept, how that goes, and who else keeps them there. */
export function StoreCards({ event }: { event: LiveEvent }) {
  const words = usePage().words.dashboard.live
  const { store, breaker, instances, degraded, processes, timeMs } = event
  const { open, closed, local } = degraded.totals
  return (
    <div class="two">
      <section class="card">
        <h2>{words.store}</h2>
        <dl class="facts">
          <dt>{store.kind}</dt>
          <dd data-fact="store">
            <span class={store.isUp ? 'good' : 'bad'}>{store.isUp ? words.storeUp : words.storeDown}</span>
            {store.isUp && ` ${words.answersIn(store.latencyMs)}`}
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
              <span class="note">{words.started(formatDuration(Math.max(0, timeMs - startedMs)))}</span>
              {id === event.instance && <span class="tag">{words.thisOne}</span>}
            </li>
          ))}
        </ul>
        {processes > 1 && <p class="note">{words.processes(processes)}</p>}
      </section>
    </div>
  )
}
