/*
 * The place in the page, such as `#/compare?limit=10&lang=ko`. It is kept in the fragment of the address, which browsers
 * do not send: the page works in any folder of any server, and a link reproduces the place.
 */

export interface Place {
  readonly view: string
  /** Parameters of the view, and `lang`. Untrusted: readers use a default for invalid values. */
  readonly params: ReadonlyMap<string, string>
}

/** Some mail programs cut longer addresses. No address of the page is that long. */
const MAX_LENGTH = 4000

export function parsePlace(hash: string): Place {
  // Accept `&` as well as `?` before parameters that were appended by hand.
  const [, view = '', query = ''] = /^#?\/?([^?&]*)(?:[?&](.*))?$/s.exec(hash.slice(0, MAX_LENGTH)) ?? []
  return { view, params: new Map(new URLSearchParams(query)) }
}

export function formatPlace({ view, params }: Place): string {
  const query = new URLSearchParams([...params]).toString()
  return query === '' ? `#/${view}` : `#/${view}?${query}`
}

/** Parses a whole number between `min` and `max`; returns `fallback` for anything else. */
export function wholeNumber(text: string | undefined, min: number, max: number, fallback: number): number {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return fallback
  const value = Number(text)
  return value >= min && value <= max ? value : fallback
}

/** Parses a time between 0 and `lastMs`; returns `fallback` for anything else. */
export function momentMs(text: string | undefined, lastMs: number, fallback: number): number {
  if (text === undefined || !/^\d{1,12}(?:\.\d{1,3})?$/.test(text)) return fallback
  const value = Number(text)
  return value <= lastMs ? value : fallback
}

export function oneOf<const T extends string>(
  text: string | undefined,
  choices: readonly T[],
  fallback: NoInfer<T>,
): T {
  return choices.find((choice) => choice === text) ?? fallback
}
