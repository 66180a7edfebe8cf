/** The time zones to choose from, UTC first. */
export const TIME_ZONES: readonly string[] = [
  'UTC',
  ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC'),
]

/** Parses the name of a time zone; returns UTC for anything else. Browsers list different aliases, but accept all. */
export function readTimeZone(text: string | undefined): string {
  if (text === undefined || !/^[A-Za-z]{2}[\w/+-]{1,60}$/.test(text)) return 'UTC'
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return text
  } catch {
    return 'UTC'
  }
}
