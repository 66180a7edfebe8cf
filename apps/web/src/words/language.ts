export type Language = 'en' | 'ko'

/** Returns the language in the address if there is one, else the browser's first supported language, else English. */
export function languageOf(addressTag: string | undefined, browserTags: readonly string[]): Language {
  const tags = [...(addressTag === undefined ? [] : [addressTag]), ...browserTags]
  for (const tag of tags) {
    const language = tag.toLowerCase().split('-', 1)[0]
    if (language === 'en' || language === 'ko') return language
  }
  return 'en'
}
