/** The units of a rate limit, by the name in the file: the number of the enum in messages, and the window. */
export const UNITS: Readonly<Record<string, { readonly number: number; readonly seconds: number }>> = {
  second: { number: 1, seconds: 1 },
  minute: { number: 2, seconds: 60 },
  hour: { number: 3, seconds: 3600 },
  day: { number: 4, seconds: 86_400 },
  week: { number: 7, seconds: 7 * 86_400 },
  month: { number: 5, seconds: 30 * 86_400 },
  year: { number: 6, seconds: 365 * 86_400 },
}

/** The unit of a limit whose window is not one of `UNITS`. */
export const UNKNOWN_UNIT = 0

export function unitOf(number: number): string | undefined {
  return Object.keys(UNITS).find((name) => UNITS[name]!.number === number)
}
