import { COMPARE_WINDOWS, NUMBERS, readSettings, writeSettings } from '../compare/compare-settings.js'
import { type Choice, canCountDenied, isBucket } from './choice.js'

/** Slots that Compare can show. */
const MAX_SLOTS = 100

/** The parameters of Compare that show a policy at work; undefined for numbers that Compare does not have. */
export function inCompare(choice: Choice): Map<string, string> | undefined {
  const { algorithm, limit, timeZone } = choice
  if (algorithm === 'concurrency') {
    const slots = [
      ['show', 'concurrency'],
      ['limit', String(limit)],
    ] as const
    return limit > MAX_SLOTS ? undefined : new Map(slots)
  }
  const window = COMPARE_WINDOWS.find((each) => each === choice.window)
  const capacity = isBucket(choice) && choice.capacity !== limit ? choice.capacity : 0
  if (window === undefined || limit > NUMBERS.limit.max || capacity > NUMBERS.capacity.max) return undefined
  return writeSettings({
    ...readSettings(new Map()),
    limit,
    window,
    capacity,
    timeZone,
    start: choice.use === 'attempts' ? 'first-request' : 'epoch',
    countDenied: canCountDenied(choice) && choice.countDenied,
  })
}
