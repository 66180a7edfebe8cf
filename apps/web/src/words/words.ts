import { en, type Words } from './en.js'
import { ko } from './ko.js'

export type { Words }

export type Language = 'en' | 'ko'

export const WORDS: Record<Language, Words> = { en, ko }

/** The one in the address, else the first of the browser's that we have, else English. */
export function languageOf(inAddress: string | undefined, ofBrowser: readonly string[]): Language {
  const wanted = [...(inAddress === undefined ? [] : [inAddress]), ...ofBrowser]
  for (const tag of wanted) {
    const language = tag.toLowerCase().split('-', 1)[0]
    if (language === 'en' || language === 'ko') return language
  }
  return 'en'
}
