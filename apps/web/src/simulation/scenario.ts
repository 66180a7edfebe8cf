import type { FixedWindowPolicy, RatePolicy } from '@tidegate/core'
import { type Run, simulate } from './simulate.js'
import type { LimiterState } from './state.js'

/** Traffic, and the policies that limit it. */
export interface Scenario {
  /** Start of the axis in milliseconds since the epoch, to which windows are aligned. */
  readonly originMs: number
  readonly spanMs: number
  /** Initial position of the clock, in whole milliseconds. Default: the end of the axis. */
  readonly opensAtMs?: number
  /** The window length for the drawn window starts and the worst window. The longest, for calendar windows. */
  readonly windowMs: number
  /** The most requests that a window should admit; undefined in stories without such a limit. */
  readonly limit: number | undefined
  readonly arrivals: readonly number[]
  /** Width of the bars that count requests. Default: chosen by the spacing of the arrivals. */
  readonly binMs?: number
  /** Whether `arrivals` was cut at `MAX_ARRIVALS`. Default: false. */
  readonly isCut?: boolean
  readonly policies: readonly RatePolicy[]
  /** How times are shown: elapsed since the start of the axis, or as the time of day. */
  readonly axis: 'elapsed' | 'clock'
}

/** One limiter of a scenario. */
export interface Lane {
  /** Unique within a scenario. */
  readonly id: string
  readonly kind: LimiterState['kind']
  /** Whether this is a deliberately wrong implementation, labelled as naive. */
  readonly isNaive: boolean
  readonly run: Run
}

/** The fixed window of a scenario, if its windows are those of a calendar. */
export function calendarPolicyOf({ policies }: Scenario): FixedWindowPolicy | undefined {
  return policies
    .filter((policy) => policy.algorithm === 'fixed-window')
    .find(({ windowKind }) => windowKind === 'calendar')
}

/** Whether any limiter counts in windows. The log and the buckets do not. */
export function hasWindows({ policies }: Scenario): boolean {
  return policies.some(
    ({ algorithm }) => algorithm === 'fixed-window' || algorithm === 'sliding-window-counter',
  )
}

/**
 * The window starts to draw in a lane, in milliseconds on the axis. The log and the buckets have no windows and show
 * those of the other limiters for comparison.
 */
export function windowStartsOf(scenario: Scenario, { kind, run }: Lane): readonly number[] {
  const { originMs, spanMs, windowMs } = scenario
  if (run.windowStartsMs !== undefined) return run.windowStartsMs
  if (!hasWindows(scenario)) return []
  const calendar = kind === 'sliding-window-counter' ? undefined : calendarPolicyOf(scenario)?.calendar
  const starts: number[] = []
  if (calendar === undefined) {
    const first = (windowMs - (originMs % windowMs)) % windowMs
    for (let at = first; at <= spanMs; at += windowMs) starts.push(at)
    return starts
  }
  const toAxis = (us: number) => us / 1000 - originMs
  let window = calendar.windowAt(originMs * 1000)
  if (toAxis(window.start) === 0) starts.push(0)
  for (; toAxis(window.end) <= spanMs; window = calendar.windowAt(window.end)) starts.push(toAxis(window.end))
  return starts
}

export function lanesOf({ policies, originMs, arrivals }: Scenario): Lane[] {
  return policies.map((policy) => ({
    id: policy.algorithm,
    kind: policy.algorithm,
    isNaive: false,
    run: simulate(policy, originMs, arrivals),
  }))
}
