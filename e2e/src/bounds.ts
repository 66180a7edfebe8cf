import type { Policy } from '@tidegate/core'
import { createSteps } from './steps.js'

/** Units that were admitted at some moment between two, both included. Whole microseconds. */
export interface Span {
  readonly fromUs: number
  readonly toUs: number
  readonly cost: number
}

/**
 * Whether an algorithm can have admitted all of these: the first interval that it cannot, in words. What lies wholly
 * inside of an interval was surely admitted in it. Where every moment is known (a span is a point) the answer is exact:
 * nothing is named if, and only if, the algorithm admits all of them.
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

/** From the beginning of any window to the end of any: the limit, times the windows between. */
function excessOfWindows(spans: readonly Span[], { limit, windowUs }: Windows): string | undefined {
  const windowOf = (us: number) => Math.floor(us / windowUs)
  const inWindows = spans.map(({ fromUs, toUs, cost }) => ({
    fromUs: windowOf(fromUs),
    toUs: windowOf(toUs),
    cost,
  }))
  // A bucket that holds nothing before a window begins, and in each of them the limit.
  return sweep(inWindows, {
    allowanceAt: (window) => limit * (window + 1),
    allowanceBefore: (window) => limit * window,
    say: (units, from, to) =>
      `${units} units in ${to - from + 1} windows of ${limit}, from ${ms(from * windowUs)} on`,
  })
}

/** A bucket gives its capacity, and what flows in between. */
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
  /** What may have been admitted up to a moment that ends an interval, less what may have been before the one that begins it. */
  readonly allowanceAt: (us: number) => number
  readonly allowanceBefore: (us: number) => number
  readonly say: (units: number, fromUs: number, toUs: number) => string
}

/**
 * Looks at every interval from a span's beginning to a span's end. Going back in time, each beginning adds its cost to
 * all intervals that end at its own end or later; the one that is furthest above its allowance tells.
 */
function sweep(spans: readonly Span[], { allowanceAt, allowanceBefore, say }: Allowance): string | undefined {
  const ends = [...new Set(spans.map(({ toUs }) => toUs))].sort((a, b) => a - b)
  const rank = new Map(ends.map((us, i) => [us, i]))
  // An end counts from when a span is known that has it: until then it would end an interval before it begins.
  const above = createSteps(ends.map(() => Number.NEGATIVE_INFINITY))
  const isKnown = new Set<number>()
  const latestFirst = [...spans].sort((a, b) => b.fromUs - a.fromUs)
  for (const [i, { fromUs, toUs, cost }] of latestFirst.entries()) {
    if (!isKnown.has(toUs)) above.fill(rank.get(toUs)!, -allowanceAt(toUs))
    isKnown.add(toUs)
    above.addFrom(rank.get(toUs)!, cost)
    if (latestFirst[i + 1]?.fromUs === fromUs) continue
    const { value, index } = above.highest()
    if (value + allowanceBefore(fromUs) <= 0) continue
    const end = ends[index]!
    return say(value + allowanceAt(end), fromUs, end)
  }
  return undefined
}

/** Any interval that is shorter than k windows admits at most k times the limit. */
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

/** The index of the last that is less, or -1. */
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
 * At each moment of a window: what it has admitted so far and the share of what the one before had, as the algorithm
 * weighs it. It is the counter's own promise, and weaker than a log's.
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
        return `${units} units by ${ms(toUs)} and ${weighed} of the ${before} in the window before, of ${limit}`
      }
    }
  }
  return undefined
}

function ms(us: number): string {
  return String(us / 1000)
}
