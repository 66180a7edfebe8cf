import type { Policy } from '@tidegate/core'
import { createSteps } from './steps.js'

/** Units that were admitted between two times, both included, in whole microseconds. */
export interface Span {
  readonly fromUs: number
  readonly toUs: number
  readonly cost: number
}

/**
 * Describes the first interval in which more was admitted than the algorithm allows; undefined if there is none. A span
 * that lies entirely within an interval was certainly admitted in it. If every span is a point, the result is exact: it
 * is undefined if and only if the algorithm admits all of them.
 */
export function excessOf(spans: readonly Span[], policy: Policy): string | undefined {
  if (spans.length === 0) return undefined
  switch (policy.algorithm) {
    case 'fixed-window':
      return excessOfWindows(spans, policy)
    case 'sliding-window-log':
      return excessOfLog(spans, policy)
    case 'sliding-window-counter':
      return excessOfCounter(spans, policy)
    case 'token-bucket':
    case 'leaky-bucket':
      return excessOfBucket(spans, policy)
  }
}

interface Windows {
  readonly limit: number
  readonly windowUs: number
}

/** From the start of one window to the end of another: the limit times the number of windows. */
function excessOfWindows(spans: readonly Span[], { limit, windowUs }: Windows): string | undefined {
  const windowOf = (us: number) => Math.floor(us / windowUs)
  const inWindows = spans.map(({ fromUs, toUs, cost }) => ({
    fromUs: windowOf(fromUs),
    toUs: windowOf(toUs),
    cost,
  }))
  // Each window adds the limit at its start.
  return sweep(inWindows, {
    allowanceAt: (window) => limit * (window + 1),
    allowanceBefore: (window) => limit * window,
    say: (units, from, to) =>
      `${units} units in ${to - from + 1} windows of ${limit}, from ${ms(from * windowUs)} on`,
  })
}

/** A bucket allows its capacity, and the units that it gains within the interval. */
function excessOfBucket(
  spans: readonly Span[],
  { limit, n, d }: { limit: number; n: number; d: number },
): string | undefined {
  const first = spans.reduce((least, { fromUs }) => Math.min(least, fromUs), Number.POSITIVE_INFINITY)
  const fromFirst = spans.map(({ fromUs, toUs, cost }) => ({
    fromUs: fromUs - first,
    toUs: toUs - first,
    cost: cost * d,
  }))
  return sweep(fromFirst, {
    allowanceAt: (us) => limit * d + n * us,
    allowanceBefore: (us) => n * us,
    say: (units, from, to) =>
      `${units / d} units within ${ms(to - from)} ms from ${ms(from + first)} on, of ${limit} and ${(n * (to - from)) / d} more`,
  })
}

interface Allowance {
  /** The allowance of an interval is `allowanceAt(its end) - allowanceBefore(its start)`. */
  readonly allowanceAt: (us: number) => number
  readonly allowanceBefore: (us: number) => number
  readonly say: (units: number, fromUs: number, toUs: number) => string
}

/**
 * Checks every interval from the start of a span to the end of a span. Spans are added from the latest start to the
 * earliest: each adds its cost to all intervals that end at its own end or later. The interval that is furthest above
 * its allowance is then compared.
 */
function sweep(spans: readonly Span[], { allowanceAt, allowanceBefore, say }: Allowance): string | undefined {
  const ends = [...new Set(spans.map(({ toUs }) => toUs))].sort((a, b) => a - b)
  const rank = new Map(ends.map((us, i) => [us, i]))
  // An end is left out until a span with this end has been added: its interval would otherwise end before it starts.
  const above = createSteps(ends.map(() => Number.NEGATIVE_INFINITY))
  const isAdded = new Set<number>()
  const latestFirst = [...spans].sort((a, b) => b.fromUs - a.fromUs)
  for (const [i, { fromUs, toUs, cost }] of latestFirst.entries()) {
    if (!isAdded.has(toUs)) above.fill(rank.get(toUs)!, -allowanceAt(toUs))
    isAdded.add(toUs)
    above.addFrom(rank.get(toUs)!, cost)
    if (latestFirst[i + 1]?.fromUs === fromUs) continue
    const { value, index } = above.highest()
    if (value + allowanceBefore(fromUs) <= 0) continue
    const end = ends[index]!
    return say(value + allowanceAt(end), fromUs, end)
  }
  return undefined
}

/** An interval shorter than k windows admits at most k times the limit. */
function excessOfLog(spans: readonly Span[], { limit, windowUs }: Windows): string | undefined {
  const ends = [...new Set(spans.map(({ toUs }) => toUs))].sort((a, b) => a - b)
  const rank = new Map(ends.map((us, i) => [us, i]))
  const upTo = createSteps(ends.map(() => 0))
  for (const { fromUs, toUs, cost } of [...spans].sort((a, b) => b.fromUs - a.fromUs)) {
    upTo.addFrom(rank.get(toUs)!, cost)
    for (let k = 1; ; k++) {
      const last = lastBelow(ends, fromUs + k * windowUs)
      const units = last < 0 ? 0 : upTo.at(last)
      if (units > k * limit) {
        return `${units} units within ${k} windows of ${limit} from ${ms(fromUs)} on`
      }
      if (last === ends.length - 1) break
    }
  }
  return undefined
}

/** The index of the last value below `than`, or -1. */
function lastBelow(sorted: readonly number[], than: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < than) low = middle + 1
    else high = middle
  }
  return low - 1
}

/**
 * At each moment of a window: its units so far and the weighted units of the previous window are at most the limit.
 * This is the guarantee of the counter, which is weaker than that of a log.
 */
function excessOfCounter(spans: readonly Span[], { limit, windowUs }: Windows): string | undefined {
  const windows = new Map<number, Span[]>()
  for (const span of spans) {
    const window = Math.floor(span.fromUs / windowUs)
    if (window !== Math.floor(span.toUs / windowUs)) continue
    const others = windows.get(window)
    if (others === undefined) windows.set(window, [span])
    else others.push(span)
  }
  for (const [window, inside] of windows) {
    const before = (windows.get(window - 1) ?? []).reduce((sum, { cost }) => sum + cost, 0)
    let units = 0
    for (const { toUs, cost } of [...inside].sort((a, b) => a.toUs - b.toUs)) {
      units += cost
      const leftUs = windowUs - (toUs - window * windowUs)
      const weighed = Number((BigInt(before) * BigInt(leftUs)) / BigInt(windowUs))
      if (units + weighed > limit) {
        return `${units} units by ${ms(toUs)} and ${weighed} of the ${before} in the previous window, of ${limit}`
      }
    }
  }
  return undefined
}

function ms(us: number): string {
  return String(us / 1000)
}
