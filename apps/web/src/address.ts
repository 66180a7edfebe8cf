/*
 * Where the visitor is: `#/compare?limit=10&lang=ko`. All of it is in the part of the address that never
 * leaves the browser, so the page works from any folder of any server, and a link is all there is to send.
 */

export interface Place {
  readonly view: string
  /** Of the view, and `lang`. Anybody can write anything here: whoever reads one falls back to its default. */
  readonly params: ReadonlyMap<string, string>
}

/** Longer addresses are cut by some mail programs, and nothing of ours comes near. */
const MAX_LENGTH = 4000

export function parsePlace(hash: string): Place {
  // What people append by hand may begin with either.
  const [, view = '', query = ''] = /^#?\/?([^?&]*)(?:[?&](.*))?$/s.exec(hash.slice(0, MAX_LENGTH)) ?? []
  return { view, params: new Map(new URLSearchParams(query)) }
}

export function formatPlace({ view, params }: Place): string {
  const query = new URLSearchParams([...params]).toString()
  return query === '' ? `#/${view}` : `#/${view}?${query}`
}

/** A whole number of the range, else the default. */
export function wholeNumber(text: string | undefined, min: number, max: number, otherwise: number): number {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return otherwise
  const value = Number(text)
  return value >= min && value <= max ? value : otherwise
}

/** A moment from 0 to the last, in milliseconds, else the default. */
export function momentMs(text: string | undefined, lastMs: number, otherwise: number): number {
  if (text === undefined || !/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return otherwise
  const value = Number(text)
  return value <= lastMs ? value : otherwise
}

export function oneOf<const T extends string>(
  text: string | undefined,
  choices: readonly T[],
  otherwise: NoInfer<T>,
): T {
  return choices.find((choice) => choice === text) ?? otherwise
}
