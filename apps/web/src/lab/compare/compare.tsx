import { oneOf } from '../../page/address.js'
import { lazy } from '../../page/lazy.js'
import { usePage } from '../../page/page-context.js'
import { Algorithms } from './algorithms.js'

/** The comparisons, by their names in the address. Only the first is part of the first load. */
const COMPARISONS = {
  algorithms: Algorithms,
  leases: lazy(async () => (await import('../leases/leases-view.js')).Leases),
  concurrency: lazy(async () => (await import('../concurrency/concurrency-view.js')).Concurrency),
}
const SHOWN = ['algorithms', 'leases', 'concurrency'] as const

/** Limiters on one time axis, with traffic and limits to choose. */
export function Compare() {
  const { words, place, linkTo } = usePage()
  const shown = oneOf(place.params.get('show'), SHOWN, 'algorithms')
  const { title, lead } = words.compare.shown[shown]
  const Comparison = COMPARISONS[shown]
  return (
    <div class="view compare">
      <h1>{title}</h1>
      <p class="lead">{lead}</p>
      <nav class="shown-list" aria-label={words.compare.show}>
        {SHOWN.map((each) => (
          <a
            key={each}
            href={linkTo('compare', each === 'algorithms' ? undefined : new Map([['show', each]]))}
            aria-current={each === shown ? 'true' : undefined}
          >
            {words.compare.shown[each].label}
          </a>
        ))}
      </nav>
      <Comparison key={shown} />
    </div>
  )
}
