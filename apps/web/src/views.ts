import type { ComponentType } from 'preact'
import { Compare } from './lab/compare.js'
import type { Words } from './words/words.js'

/** A tab of the page. */
export interface View {
  /** In the address: `#/compare`. */
  readonly id: string
  readonly label: (words: Words) => string
  readonly component: ComponentType
}

/** In the order of the tabs. The first is shown where the address names none. */
export const VIEWS: readonly View[] = [
  { id: 'compare', label: (words) => words.views.compare, component: Compare },
]
