import { definePolicy, type Policy } from '@tidegate/core'
import { oneOf, wholeNumber } from '../../page/address.js'
import { CALENDAR_UNITS, type CalendarUnit, isCalendarUnit, WINDOWS } from '../../simulation/windows.js'
import { readTimeZone } from '../time-zones.js'
import { algorithmFor, readAnswers } from './decision-tree.js'

/** The uses of a limit. Requests per time need further questions; the others lead to a policy at once. */
export const USES = ['requests', 'attempts', 'quota', 'in-flight', 'tokens'] as const
export type Use = (typeof USES)[number]

export const BLOCKS = ['none', '1m', '15m', '1h', '1d'] as const
export const TTLS = ['10s', '30s', '1m', '5m'] as const
type Window = (typeof WINDOWS)[number] | CalendarUnit

/** A use, and the policy for it. Each algorithm ignores the numbers that it does not have. */
export interface Choice {
  readonly use: Use
  readonly algorithm: Policy['algorithm']
  readonly limit: number
  readonly window: Window
  /** Used by the buckets only. */
  readonly capacity: number
  readonly timeZone: string
  readonly blockFor: (typeof BLOCKS)[number]
  readonly countDenied: boolean
  readonly ttl: (typeof TTLS)[number]
}

const MAX_LIMIT = 100_000
/** Fixed windows and counters can have more, but the address has at most 9 digits. */
const MAX_UNITS = 999_999_999

export const USE_SETTINGS: Record<
  Use,
  { limit: number; maxLimit: number; window: Window; windows: readonly Window[] }
> = {
  requests: { limit: 100, maxLimit: MAX_LIMIT, window: '1m', windows: WINDOWS },
  attempts: { limit: 5, maxLimit: MAX_LIMIT, window: '15m', windows: WINDOWS },
  quota: { limit: 1000, maxLimit: MAX_UNITS, window: 'month', windows: CALENDAR_UNITS },
  'in-flight': { limit: 10, maxLimit: MAX_LIMIT, window: '1m', windows: [] },
  tokens: { limit: 100_000, maxLimit: MAX_UNITS, window: '1m', windows: [...WINDOWS, ...CALENDAR_UNITS] },
}

export function readUse(params: ReadonlyMap<string, string>): Use {
  return oneOf(params.get('for'), USES, 'requests')
}

/** Reads a choice from the address. Returns undefined while questions are left. */
export function readChoice(params: ReadonlyMap<string, string>): Choice | undefined {
  const use = readUse(params)
  const settings = USE_SETTINGS[use]
  const limit = wholeNumber(params.get('limit'), 1, settings.maxLimit, settings.limit)
  const window = oneOf(params.get('window'), settings.windows, settings.window)
  const algorithm =
    use === 'requests' ? algorithmFor(readAnswers(params.get('answers'))) : algorithmOf(use, window)
  if (algorithm === undefined) return undefined
  return {
    use,
    algorithm,
    limit,
    window,
    capacity: wholeNumber(params.get('capacity'), 1, MAX_LIMIT, limit),
    timeZone: readTimeZone(params.get('timeZone')),
    blockFor: oneOf(params.get('blockFor'), BLOCKS, 'none'),
    countDenied: params.get('countDenied') === 'true',
    ttl: oneOf(params.get('ttl'), TTLS, '30s'),
  }
}

function algorithmOf(use: Exclude<Use, 'requests'>, window: Window): Policy['algorithm'] {
  if (use === 'in-flight') return 'concurrency'
  return use === 'tokens' && !isCalendarUnit(window) ? 'sliding-window-counter' : 'fixed-window'
}

export const isBucket = ({ algorithm }: Choice) =>
  algorithm === 'token-bucket' || algorithm === 'leaky-bucket'

/** Whether the options of denied requests are offered: a quota or budget rarely needs them. */
export const canBlock = ({ use }: Choice) => use === 'requests' || use === 'attempts'
export const canCountDenied = (choice: Choice) => canBlock(choice) && !isBucket(choice)

/** The options of the policy, in the order of the documentation. */
export function optionsOf(choice: Choice): Record<string, string | number | boolean> {
  const { algorithm, limit, window, capacity } = choice
  const options: Record<string, string | number | boolean> = {}
  if (algorithm === 'concurrency') return { limit, ttl: choice.ttl }
  if (algorithm === 'token-bucket') Object.assign(options, { capacity, refillRate: `${limit}/${window}` })
  else if (algorithm === 'leaky-bucket') Object.assign(options, { capacity, leakRate: `${limit}/${window}` })
  else Object.assign(options, { limit, window })
  if (choice.use === 'attempts') options.start = 'first-request'
  if (isCalendarUnit(window)) options.timeZone = choice.timeZone
  if (canCountDenied(choice) && choice.countDenied) options.countDenied = true
  if (canBlock(choice) && choice.blockFor !== 'none') options.blockFor = choice.blockFor
  return options
}

/** The name of the policy in the snippets. */
export const NAME = 'api'

/** The policy that the snippets define. */
export function policyOf(choice: Choice): Policy {
  return definePolicy({ algorithm: choice.algorithm, name: NAME, ...optionsOf(choice) })
}
