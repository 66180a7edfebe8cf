import { useState } from 'preact/hooks'
import type { KeyCount } from 'tidegate/dist/live/live-event.js'
import { usePage } from '../../page/page-context.js'
import { formatCount } from '../../words/format.js'
import { shownKey } from '../shown-key.js'

const SHOWN = 10

/** Keys by number of checks or denials. */
export function KeyList({
  title,
  keys,
  isDenied = false,
}: {
  title: string
  keys: readonly KeyCount[]
  isDenied?: boolean
}) {
  const page = usePage()
  const words = page.words.dashboard.live
  // The rows stay while the pointer is over them, so that a click cannot hit another key.
  const [held, setHeld] = useState<readonly KeyCount[]>()
  const shown = held ?? keys
  const highest = shown[0]?.count ?? 1
  return (
    <section class="card">
      <h2>{title}</h2>
      {shown.length === 0 ? (
        <p class="note">{words.noKeys}</p>
      ) : (
        <ol
          class={isDenied ? 'key-list denials' : 'key-list'}
          onPointerEnter={() => setHeld(keys)}
          onPointerLeave={() => setHeld(undefined)}
        >
          {shown.slice(0, SHOWN).map(({ policy, key, count, error, isHashed }) => (
            <li key={`${policy} ${key}`}>
              <i class="share" style={{ width: `${(100 * count) / highest}%` }} aria-hidden="true" />
              {isHashed ? (
                // A hashed key cannot be looked up.
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
              <span class="note" title={policy}>
                {policy}
              </span>
              <b>{(error > 0 ? '≤ ' : '') + formatCount(count)}</b>
            </li>
          ))}
        </ol>
      )}
      <p class="note">{held === undefined ? words.lastMinute : words.held}</p>
    </section>
  )
}
