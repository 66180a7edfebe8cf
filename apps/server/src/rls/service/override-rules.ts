import { fixedCounter, type PolicyTerms } from '../limits/define-rule.js'
import type { DescriptorRule } from '../limits/rule.js'
import { UNITS, unitOf } from '../limits/unit.js'

/** A limit in a request, which replaces the one in the file. */
export interface LimitOverride {
  readonly requestsPerUnit: number
  readonly unit: number
}

const MAX_CACHED = 1000

/** Creates the rules of overrides, and caches the most recent ones. */
export function createOverrides(terms: PolicyTerms) {
  const cache = new Map<string, DescriptorRule>()

  /** Undefined if the unit is unknown. With `isAtomic`, each limit has its own counts. */
  return function ruleOf(
    { requestsPerUnit, unit }: LimitOverride,
    isAtomic: boolean,
  ): DescriptorRule | undefined {
    const id = `${isAtomic}:${unit}:${requestsPerUnit}`
    const cachedRule = cache.get(id)
    if (cachedRule !== undefined) return cachedRule
    const unitName = unitOf(unit)
    if (unitName === undefined) return undefined
    // A take must not have two policies with one name and different limits.
    const name = `rls-override-${unitName}${isAtomic ? `-${requestsPerUnit}` : ''}`
    const window = `${UNITS[unitName]!.seconds}s`
    const rule: DescriptorRule = {
      path: '',
      name: '',
      replaces: [],
      isUnlimited: false,
      isShadow: false,
      isQuota: false,
      hasDetailedMetric: false,
      limit: requestsPerUnit,
      unit,
      counter: fixedCounter({ name, limit: requestsPerUnit, window }, terms),
    }
    if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value!)
    cache.set(id, rule)
    return rule
  }
}
