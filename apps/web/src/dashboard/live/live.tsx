import { useEffect, useState } from 'preact/hooks'
import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { CodeBlock } from '../../page/code-block.js'
import { usePage } from '../../page/page-context.js'
import { serviceUrl } from '../../page/service-address.js'
import { useParam } from '../../page/use-param.js'
import { type Connection, history, listen } from '../service/live-source.js'
import { useHistory } from '../service/use-history.js'
import { useSession, WithSession } from '../session.js'
import { Charts } from './charts.js'
import { KeyList } from './key-list.js'
import { PolicyTable } from './policy-table.js'
import { StateLine } from './state-line.js'
import { StoreCards } from './store-cards.js'
import { Tiles } from './tiles.js'

/** Numbers that change more often are unreadable. */
const TEXT_MS = 250

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
  const { token, onUnauthorized } = useSession()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => listen({ token, onConnection: setConnection, onUnauthorized }), [token, onUnauthorized])
  const event = useHistory(() => history.last, TEXT_MS, [])
  const [chosen, setChosen] = useParam('policy')
  const policy = event?.policies.some(({ name }) => name === chosen) ? chosen : undefined

  return (
    <div class={connection === 'live' ? 'dashboard' : 'dashboard stale'}>
      <h1>{words.title}</h1>
      <StateLine event={event} connection={connection} />
      {event !== undefined && event.instances.length > 1 && (
        <p class="note" data-fact="scope">
          {words.oneInstance(event.instances.length)}
        </p>
      )}
      {event !== undefined && (
        <>
          <Tiles event={event} />
          {isIdle(event) ? (
            <FirstCheck />
          ) : (
            <>
              <Charts policy={policy} />
              <div class="two keys">
                <KeyList title={words.topDenied} keys={event.denied} isDenied />
                <KeyList title={words.topKeys} keys={event.busiest} />
              </div>
              <PolicyTable event={event} chosen={policy} onChoose={setChosen} />
            </>
          )}
          <StoreCards event={event} />
        </>
      )}
    </div>
  )
}

const isIdle = ({ total }: LiveEvent) => total.allowedTotal + total.deniedTotal === 0

/** Shown in place of charts and tables until the first check. */
function FirstCheck() {
  const words = usePage().words.dashboard.live
  const curl = `curl '${serviceUrl()}api/v1/rate-limit/check?key=user:123'`
  return (
    <div class="card">
      <CodeBlock title={words.firstCheck} note={words.firstCheckNote} text={curl} level="h2" />
    </div>
  )
}
