import type { ComponentType } from 'preact'
import { DASHBOARD, hasService } from './dashboard/views.js'
import { Choose } from './lab/choose.js'
import { Compare } from './lab/compare.js'
import { Stories } from './lab/stories-view.js'
import type { Words } from './words/words.js'

/** A tab of the page. */
export interface View {
  /** In the address: `#/compare`. */
  readonly id: string
  readonly label: (words: Words) => string
  readonly component: ComponentType
  /** At the foot of the page. Default: what is true of the lab. */
  readonly footer?: (words: Words) => string
}

/** In the order of the tabs: what `dashboard/` has, where there is a service, then the lab's. The first is shown where the address names none. */
export const VIEWS: readonly View[] = [
  ...(hasService ? DASHBOARD : []),
  { id: 'compare', label: (words) => words.views.compare, component: Compare },
  { id: 'stories', label: (words) => words.views.stories, component: Stories },
  { id: 'choose', label: (words) => words.views.choose, component: Choose },
]
