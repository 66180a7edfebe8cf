import { useEffect } from 'preact/hooks'
import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { usePage } from '../../page/page-context.js'
import type { Words } from '../../words/words.js'
import type { Connection } from '../service/live-source.js'

/** The state of the service as a sentence, and a mark in the title of the page if something is wrong. */
export function StateLine({ event, connection }: { event: LiveEvent | undefined; connection: Connection }) {
  const { words: all, setAlarm } = usePage()
  const words = all.dashboard.live
  const isLive = connection === 'live' && event !== undefined
  const isAlarm = isLive ? event.state !== 'well' : connection === 'lost'
  useEffect(() => {
    setAlarm(isAlarm)
    return () => setAlarm(false)
  }, [isAlarm, setAlarm])
  const text = isLive
    ? [words.states[event.state], event.state === 'store-down' ? fallbackText(event, words) : '']
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

/** More names would hide the message. */
const MAX_NAMES = 3

/** The fallback of the policies while the store is unavailable. */
function fallbackText(event: LiveEvent, words: Words['dashboard']['live']): string {
  const modes = (['open', 'local', 'closed'] as const).flatMap((mode) => {
    const names = event.policies.filter((policy) => policy.onStoreFailure === mode).map(({ name }) => name)
    if (names.length === 0) return []
    const isAll = names.length === event.policies.length
    const some = names.length > MAX_NAMES ? words.policyCount(names.length) : names.join(', ')
    return [words.mode(words.modes[mode], isAll ? words.allPolicies : some)]
  })
  return words.fallback(modes.join(', '))
}
