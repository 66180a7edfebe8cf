import type { ComponentType } from 'preact'
import { Choose } from './lab/choose/choose.js'
import { Compare } from './lab/compare/compare.js'
import { Stories } from './lab/stories-view.js'
import { hasService } from './page/service-address.js'
import type { Words } from './words/words.js'

/** A tab of the page. */
export interface View {
  /** Name in the address, as in `#/compare`. */
  readonly id: string
  readonly label: (words: Words) => string
  readonly component: ComponentType
  /** Whether this is the first tab of a group. */
  readonly startsGroup?: boolean
  /** Text of the footer. Default: that of the lab. */
  readonly footer?: (words: Words) => string
}

const LAB: readonly View[] = [
  { id: 'compare', label: (words) => words.views.compare, component: Compare, startsGroup: true },
  { id: 'stories', label: (words) => words.views.stories, component: Stories },
  { id: 'choose', label: (words) => words.views.choose, component: Choose },
]

/** The tabs in order: the dashboard, which is loaded only if there is a service, then the lab. The first is the default. */
export async function loadViews(): Promise<readonly View[]> {
  if (!hasService) return LAB
  const { DASHBOARD } = await import('./dashboard/dashboard-views.js')
  return [...DASHBOARD, ...LAB]
}
