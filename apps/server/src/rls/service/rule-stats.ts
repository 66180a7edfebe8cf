/** Statistics of one rule, in hits. */
export interface RuleStats {
  hits: number
  withinLimit: number
  nearLimit: number
  overLimit: number
  /** Hits over the limit that shadow mode allowed. */
  shadowMode: number
}

/** The name of the statistics of all rules without their own. */
const OTHER = '(other)'
/** Names with values of requests can have a megabyte. Longer names have no series of their own. */
const MAX_NAME_CHARACTERS = 500

/** Statistics by the name of the rule. At most `maxSeries` names depend on the values of requests. */
export function createRuleStats(maxSeries = 1000) {
  const byName = new Map<string, RuleStats>()
  /** The maximum number of names: those of the files, and `maxSeries` more. */
  let room = maxSeries

  function add(name: string): RuleStats {
    const stats = { hits: 0, withinLimit: 0, nearLimit: 0, overLimit: 0, shadowMode: 0 }
    byName.set(name, stats)
    return stats
  }

  return {
    of(name: string): RuleStats {
      const stats = byName.get(name)
      if (stats !== undefined) return stats
      const hasRoom = byName.size < room && name.length <= MAX_NAME_CHARACTERS
      return hasRoom ? add(name) : (byName.get(OTHER) ?? add(OTHER))
    },
    /** Keeps only the statistics of these rules of the files. Each of them has a series, even with a count of 0. */
    keep(names: readonly string[]): void {
      const before = new Map(byName)
      byName.clear()
      for (const name of names) byName.set(name, before.get(name) ?? add(name))
      room = byName.size + maxSeries
    },
    all: (): ReadonlyMap<string, RuleStats> => byName,
  }
}

export type AllRuleStats = ReturnType<typeof createRuleStats>

export interface HitStats {
  readonly hits: number
  readonly limit: number
  readonly after: number
  readonly isOver: boolean
  readonly isShadow: boolean
  /** Hits above this fraction of the limit count as near the limit. */
  readonly nearLimitRatio: number
}

/** Counts hits, each as within, near or over the limit: one request may have some of each. */
export function recordHits(
  stats: RuleStats,
  { hits, limit, after, isOver, isShadow, nearLimitRatio }: HitStats,
) {
  stats.hits += hits
  const before = Math.max(0, after - hits)
  const near = Math.floor(Math.fround(limit * Math.fround(nearLimitRatio)))
  if (isOver) {
    const over = before >= limit ? hits : after - limit
    stats.overLimit += over
    if (before < limit) stats.nearLimit += limit - Math.max(near, before)
    if (isShadow) stats.shadowMode += over
    return
  }
  stats.withinLimit += hits
  if (after > near) stats.nearLimit += before >= near ? hits : after - near
}
