import type { TopKey } from '../top-keys/top-keys.js'

/** The counters of one process since its start. They can be sent to other processes. */
export interface Counters {
  readonly policies: Readonly<Record<string, Counts>>
  /** Number of checks in each bucket of `CHECK_SECONDS`. */
  readonly times: readonly number[]
  readonly degraded: Readonly<Record<DegradedMode, number>>
  readonly storeErrors: number
  readonly breaker: BreakerLabel
  readonly busiest: readonly TopKey[]
  readonly denied: readonly TopKey[]
}

export interface Counts {
  readonly allowed: number
  readonly denied: number
}

export type DegradedMode = 'open' | 'closed' | 'local'
export type BreakerLabel = 'closed' | 'half_open' | 'open'

const WORST_FIRST: readonly BreakerLabel[] = ['open', 'half_open', 'closed']

/** Adds up the counters of several processes. */
export function sumCounters(all: readonly Counters[]): Counters {
  // Without a prototype, because a policy may be named constructor.
  const policies: Record<string, Counts> = Object.create(null)
  for (const { policies: some } of all) {
    for (const [name, { allowed, denied }] of Object.entries(some)) {
      const sum = policies[name] ?? { allowed: 0, denied: 0 }
      policies[name] = { allowed: sum.allowed + allowed, denied: sum.denied + denied }
    }
  }
  const sum = (of: (counters: Counters) => number) => all.reduce((total, counters) => total + of(counters), 0)
  return {
    policies,
    times: (all[0]?.times ?? []).map((_, i) => sum(({ times }) => times[i] ?? 0)),
    degraded: {
      open: sum(({ degraded }) => degraded.open),
      closed: sum(({ degraded }) => degraded.closed),
      local: sum(({ degraded }) => degraded.local),
    },
    storeErrors: sum(({ storeErrors }) => storeErrors),
    breaker: WORST_FIRST.find((state) => all.some(({ breaker }) => breaker === state)) ?? 'closed',
    busiest: sumOfKeys(all.map(({ busiest }) => busiest)),
    denied: sumOfKeys(all.map(({ denied }) => denied)),
  }
}

function sumOfKeys(lists: readonly (readonly TopKey[])[]): TopKey[] {
  if (lists.length === 1) return [...lists[0]!]
  const sums = new Map<string, { text: string; count: number; error: number }>()
  for (const { text, count, error } of lists.flat()) {
    const sum = sums.get(text) ?? { text, count: 0, error: 0 }
    sum.count += count
    sum.error += error
    sums.set(text, sum)
  }
  return [...sums.values()].sort((a, b) => b.count - a.count)
}

/** The increase between two samples, at least 0: for a process that restarted in between, a count can be lower. */
export function since(before: Counters, now: Counters): Pick<Counters, 'policies' | 'times' | 'degraded'> {
  const increase = (a: number | undefined, b: number) => Math.max(0, b - (a ?? 0))
  return {
    policies: Object.fromEntries(
      Object.entries(now.policies).map(([name, { allowed, denied }]) => {
        const previous = Object.hasOwn(before.policies, name) ? before.policies[name] : undefined
        return [
          name,
          { allowed: increase(previous?.allowed, allowed), denied: increase(previous?.denied, denied) },
        ]
      }),
    ),
    times: now.times.map((count, i) => increase(before.times[i], count)),
    degraded: {
      open: increase(before.degraded.open, now.degraded.open),
      closed: increase(before.degraded.closed, now.degraded.closed),
      local: increase(before.degraded.local, now.degraded.local),
    },
  }
}

/** The quantile of a histogram, interpolated between two bounds; undefined if it is empty. */
export function quantile(
  share: number,
  bounds: readonly number[],
  counts: readonly number[],
): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  let below = 0
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i]!
    if (count > 0 && below + count >= share * total) {
      const from = i === 0 ? 0 : bounds[i - 1]!
      // The last bucket has no upper bound.
      const to = bounds[i] ?? from
      return from + ((share * total - below) / count) * (to - from)
    }
    below += count
  }
  return bounds.at(-1)
}
