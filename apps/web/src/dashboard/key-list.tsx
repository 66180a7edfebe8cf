import { formatCount } from '../format.js'
import { usePage } from '../page-context.js'
import type { KeyCount } from './live-event.js'
import { shownKey } from './shown-key.js'

const SHOWN = 10

/** Keys by how often they came. */
export function KeyList({
  title,
  keys,
  isRefused = false,
}: {
  title: string
  keys: readonly KeyCount[]
  isRefused?: boolean
}) {
  const page = usePage()
  const words = page.words.dashboard.live
  const most = keys[0]?.count ?? 1
  return (
    <section class="card">
      <h2>{title}</h2>
      {keys.length === 0 ? (
        <p class="note">{words.noKeys}</p>
      ) : (
        <ol class={isRefused ? 'key-list refusals' : 'key-list'}>
          {keys.slice(0, SHOWN).map(({ policy, key, count, error, isHashed }) => (
            <li key={`${policy} ${key}`}>
              <i class="share" style={{ width: `${(100 * count) / most}%` }} aria-hidden="true" />
              {isHashed ? (
                // What is hashed cannot be looked up.
                <span class="key-name">{key}</span>
              ) : (
                <a
                  class="key-name"
                  href={page.linkTo('key', new Map([['key', key]]))}
                  aria-label={words.lookUp(shownKey(key))}
                >
                  {shownKey(key)}
                </a>
              )}
              <span class="note">{policy}</span>
              <b>{(error > 0 ? '≤ ' : '') + formatCount(count)}</b>
            </li>
          ))}
        </ol>
      )}
      <p class="note">{words.lastMinute}</p>
    </section>
  )
}
