import type { ComponentType } from 'preact'
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
}

/** In the order of the tabs: the lab's, then what `dashboard/` has. The first is shown where the address names none. */
export const VIEWS: readonly View[] = [
  { id: 'compare', label: (words) => words.views.compare, component: Compare },
  { id: 'stories', label: (words) => words.views.stories, component: Stories },
  { id: 'choose', label: (words) => words.views.choose, component: Choose },
]
