/** What the service says of a key under one policy. */
export interface KeyState {
  readonly policy: string
  readonly algorithm: string
  readonly limit: number
  readonly allowed: boolean
  /** Null if the store has not said. */
  readonly remaining: number | null
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  /** How much would be there after how long if nobody came; soonest first. */
  readonly ahead: readonly { readonly afterMs: number; readonly remaining: number }[]
}

export const MINUTE_MS = 60_000

/**
 * What there would be over the next minute, as a line for a chart: seconds, and units. Between two points that the
 * service told, a bucket fills evenly, and a window opens at once.
 */
export function nextMinute({ algorithm, remaining, ahead }: KeyState): [number[], number[]] {
  const isEven = algorithm === 'TOKEN_BUCKET' || algorithm === 'LEAKY_BUCKET'
  const seconds = [0]
  const units = [remaining ?? 0]
  for (const { afterMs, remaining: then } of ahead) {
    const before = { s: seconds.at(-1) ?? 0, n: units.at(-1) ?? 0 }
    const s = Math.min(afterMs, MINUTE_MS) / 1000
    const isWithin = afterMs <= MINUTE_MS
    if (!isEven) {
      seconds.push(s)
      units.push(before.n)
    }
    if (isWithin) {
      seconds.push(s)
      units.push(then)
    } else {
      if (isEven) {
        const share = (s - before.s) / (afterMs / 1000 - before.s)
        seconds.push(s)
        units.push(before.n + share * (then - before.n))
      }
      break
    }
  }
  if ((seconds.at(-1) ?? 0) < MINUTE_MS / 1000) {
    seconds.push(MINUTE_MS / 1000)
    units.push(units.at(-1) ?? 0)
  }
  return [seconds, units]
}
