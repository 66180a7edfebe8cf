import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Language } from '../words/language.js'
import type { Words } from '../words/words.js'
import type { Place } from './address.js'
import type { Theme } from './theme.js'

/** Shared by all components: the current place, language and theme, and navigation. */
export interface PageContext {
  readonly place: Place
  readonly language: Language
  readonly words: Words
  readonly theme: Theme
  /**
   * Navigates. `replace` adds no history entry, for frequent changes. `edit` names a value that is being edited: its
   * first edit adds an entry, which further edits of the same value replace.
   */
  go(place: Place, how?: 'push' | 'replace' | { readonly edit: string }): void
  /** Marks the title of the page, for those who look at another tab. */
  setAlarm(isOn: boolean): void
  /** The address of a view in the current language. */
  linkTo(view: string, params?: ReadonlyMap<string, string>): string
}

export const Page = createContext<PageContext | undefined>(undefined)

export function usePage(): PageContext {
  const page = useContext(Page)
  if (page === undefined) throw new Error('usePage must be used inside Page.Provider')
  return page
}
