import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Place } from './address.js'
import type { Theme } from './theme.js'
import type { Language, Words } from './words/words.js'

/** What every part of the page may ask: where we are, in which language and light, and how to go elsewhere. */
export interface PageContext {
  readonly place: Place
  readonly language: Language
  readonly words: Words
  readonly theme: Theme
  /** Shows another place. `replace` leaves no step for the back button: for what changes all the time. */
  go(place: Place, how?: 'push' | 'replace'): void
  /** The address of a view, in this language. */
  linkTo(view: string, params?: ReadonlyMap<string, string>): string
}

export const Page = createContext<PageContext | undefined>(undefined)

export function usePage(): PageContext {
  const page = useContext(Page)
  if (page === undefined) throw new Error('used outside of the page')
  return page
}
