import { fixedCounter, type PolicyTerms } from '../limits/define-rule.js'
import type { Rule } from '../limits/rule.js'
import { UNITS, unitOf } from '../limits/unit.js'

/** A limit in a request, which replaces the one in the file. */
export interface LimitOverride {
  readonly requestsPerUnit: number
  readonly unit: number
}

const MAX_KEPT = 1000

/** Makes the rules of overrides, and keeps the most recent ones. */
export function createOverrides(terms: PolicyTerms) {
  const kept = new Map<string, Rule>()

  /** Undefined if the unit is not known. With `isAtomic`, each limit has counts of its own. */
  return function ruleOf({ requestsPerUnit, unit }: LimitOverride, isAtomic: boolean): Rule | undefined {
    const id = `${isAtomic}:${unit}:${requestsPerUnit}`
    const keptRule = kept.get(id)
    if (keptRule !== undefined) return keptRule
    const unitName = unitOf(unit)
    if (unitName === undefined) return undefined
    // One take cannot have two policies of one name with different limits.
    const name = `rls-override-${unitName}${isAtomic ? `-${requestsPerUnit}` : ''}`
    const window = `${UNITS[unitName]!.seconds}s`
    const rule: Rule = {
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
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!)
    kept.set(id, rule)
    return rule
  }
}
