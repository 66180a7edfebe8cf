/** The state of a key in one policy, as in the response of `/api/v1/admin/keys`. */
export interface KeyState {
  readonly policy: string
  readonly algorithm: string
  readonly limit: number
  readonly allowed: boolean
  /** Null while the store is unavailable. */
  readonly remaining: number | null
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  /** Why the key is denied, if not by its count. */
  readonly reason?: string
  /** Remaining units after some time without further requests; soonest first. */
  readonly ahead: readonly { readonly afterMs: number; readonly remaining: number }[]
}

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS
const YEAR_AXIS = { spanMs: 366 * DAY_MS, stepMs: 100 * DAY_MS }
/** The lengths of forecasts, with the distance of their labels. Few, so that the axis does not change with every lookup. */
const AXES = [
  { spanMs: MINUTE_MS, stepMs: MINUTE_MS / 4 },
  { spanMs: 5 * MINUTE_MS, stepMs: MINUTE_MS },
  { spanMs: 15 * MINUTE_MS, stepMs: 5 * MINUTE_MS },
  { spanMs: 60 * MINUTE_MS, stepMs: 15 * MINUTE_MS },
  { spanMs: 360 * MINUTE_MS, stepMs: 120 * MINUTE_MS },
  { spanMs: DAY_MS, stepMs: DAY_MS / 4 },
  { spanMs: 7 * DAY_MS, stepMs: 2 * DAY_MS },
  { spanMs: 31 * DAY_MS, stepMs: 10 * DAY_MS },
  YEAR_AXIS,
] as const

/** The axis of a forecast: until the key is fully restored, and at least a minute. */
export function forecastAxis(resetAfterMs: number): { readonly spanMs: number; readonly stepMs: number } {
  return AXES.find(({ spanMs }) => spanMs >= resetAfterMs) ?? YEAR_AXIS
}

/**
 * The remaining units without further requests, as a line for a chart: milliseconds from now, and units. Between two points
 * of the forecast a bucket fills evenly, and a window resets at once.
 */
export function forecastLine(
  { algorithm, remaining, ahead }: KeyState,
  spanMs: number,
): [timesMs: number[], units: number[]] {
  const isEven = algorithm === 'TOKEN_BUCKET' || algorithm === 'LEAKY_BUCKET'
  const timesMs = [0]
  const units = [remaining ?? 0]
  const add = (ms: number, count: number) => {
    timesMs.push(ms)
    units.push(count)
  }
  for (const { afterMs, remaining: then } of ahead) {
    if (!isEven) add(afterMs, units.at(-1) ?? 0)
    add(afterMs, then)
  }
  if ((timesMs.at(-1) ?? 0) < spanMs) add(spanMs, units.at(-1) ?? 0)
  return [timesMs, units]
}
