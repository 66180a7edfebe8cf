import type { Policy } from '@tidegate/core'
import { type Run, simulate } from './simulate.js'
import type { LimiterState } from './state.js'

/** Traffic, and who has to deal with it. */
export interface Scenario {
  /** When the axis starts, in milliseconds since the epoch: windows are aligned to that. */
  readonly originMs: number
  readonly spanMs: number
  /** Where the clock stands at first, in whole milliseconds. Default: at the end, where there is most to see. */
  readonly opensAtMs?: number
  /** The windows that are drawn, and over which the worst is looked for. */
  readonly windowMs: number
  /** How many there should be in a window at most. Undefined where the story is about something else. */
  readonly limit: number | undefined
  readonly arrivals: readonly number[]
  /** Whether more came than there are. Default: no. */
  readonly isCut?: boolean
  readonly policies: readonly Policy[]
  /** How moments are written: from the start of the axis, or as the time of day. */
  readonly axis: 'elapsed' | 'clock'
}

/** One limiter on the axis. */
export interface Lane {
  /** Different for each lane of a scenario. */
  readonly id: string
  readonly kind: LimiterState['kind']
  /** Written to fail as others have failed: shown beside ours, and said to be so. */
  readonly isNaive: boolean
  readonly run: Run
}

export function lanesOf({ policies, originMs, arrivals }: Scenario): Lane[] {
  return policies.map((policy) => ({
    id: policy.algorithm,
    kind: policy.algorithm,
    isNaive: false,
    run: simulate(policy, originMs, arrivals),
  }))
}
