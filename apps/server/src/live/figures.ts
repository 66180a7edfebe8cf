import type { TopKey } from './top-keys.js'

/** What one process has counted since it began, as plain data that another process can be told. */
export interface Figures {
  readonly policies: Readonly<Record<string, Counts>>
  /** How many checks took up to each of the bounds of `CHECK_SECONDS`, and more than the one before. */
  readonly times: readonly number[]
  readonly degraded: Readonly<Record<DegradedMode, number>>
  readonly storeErrors: number
  readonly breaker: Breaker
  readonly busiest: readonly TopKey[]
  readonly refused: readonly TopKey[]
}

export interface Counts {
  readonly allowed: number
  readonly refused: number
}

export type DegradedMode = 'open' | 'closed' | 'local'
export type Breaker = 'closed' | 'half_open' | 'open'

const WORST_FIRST: readonly Breaker[] = ['open', 'half_open', 'closed']

/** What several processes have counted together. */
export function sumOf(all: readonly Figures[]): Figures {
  // Without a prototype: a policy may be called constructor.
  const policies: Record<string, Counts> = Object.create(null)
  for (const { policies: some } of all) {
    for (const [name, { allowed, refused }] of Object.entries(some)) {
      const sum = policies[name] ?? { allowed: 0, refused: 0 }
      policies[name] = { allowed: sum.allowed + allowed, refused: sum.refused + refused }
    }
  }
  const sum = (of: (figures: Figures) => number) => all.reduce((total, figures) => total + of(figures), 0)
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
    refused: sumOfKeys(all.map(({ refused }) => refused)),
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

/** What came between two looks. A process that began anew in between has counted less than before: that is nothing. */
export function since(before: Figures, now: Figures): Pick<Figures, 'policies' | 'times' | 'degraded'> {
  const more = (a: number | undefined, b: number) => Math.max(0, b - (a ?? 0))
  return {
    policies: Object.fromEntries(
      Object.entries(now.policies).map(([name, { allowed, refused }]) => {
        const old = Object.hasOwn(before.policies, name) ? before.policies[name] : undefined
        return [name, { allowed: more(old?.allowed, allowed), refused: more(old?.refused, refused) }]
      }),
    ),
    times: now.times.map((count, i) => more(before.times[i], count)),
    degraded: {
      open: more(before.degraded.open, now.degraded.open),
      closed: more(before.degraded.closed, now.degraded.closed),
      local: more(before.degraded.local, now.degraded.local),
    },
  }
}

/** The value below which such a share lies, guessed evenly between two bounds; undefined of nothing. */
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
      // Beyond the last bound nobody knows how far.
      const to = bounds[i] ?? from
      return from + ((share * total - below) / count) * (to - from)
    }
    below += count
  }
  return bounds.at(-1)
}
