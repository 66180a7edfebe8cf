/** Windows of a fixed length. */
export const WINDOWS = ['1s', '10s', '1m', '15m', '1h', '1d'] as const

/** Windows of the calendar in a time zone. */
export const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

export function isCalendarUnit(window: string): window is CalendarUnit {
  return (CALENDAR_UNITS as readonly string[]).includes(window)
}
