import type { Decision, FullStore, Policy } from '@tidegate/core'
import {
  countHit,
  type Hit,
  type HitOutcome,
  isUncounted,
  resetSecondsOf,
  uncountedOutcome,
} from './count.js'

/**
 * Takes the hits from all rules or from none. Hits of 0, and rules in shadow or quota mode, which cannot deny a request alone,
 * are counted independently.
 */
export async function countAtomically(store: FullStore, hits: readonly Hit[]): Promise<HitOutcome[]> {
  const joint = hits.filter(isJoint)
  const [taken, alone] = await Promise.all([
    takeAll(store, joint),
    Promise.all(hits.map((hit) => (isJoint(hit) ? undefined : countHit(store, hit)))),
  ])
  const rest = taken.values()
  return alone.map((counted) => counted ?? rest.next().value!)
}

function isJoint({ rule, hits }: Hit): boolean {
  return !rule.isShadow && !rule.isQuota && hits > 0
}

async function takeAll(store: FullStore, hits: readonly Hit[]): Promise<HitOutcome[]> {
  if (hits.length === 0) return []
  const sums = new Map<string, number>()
  for (const hit of hits) sums.set(nameOf(hit), (sums.get(nameOf(hit)) ?? 0) + hit.hits)
  const cannotFit = (hit: Hit) => policyOf(hit) === undefined || sums.get(nameOf(hit))! > hit.rule.limit
  // A hit that can never fit denies the request. Nothing is taken, and the other rules are only read.
  if (hits.some(cannotFit)) {
    return Promise.all(
      hits.map(async (hit) => {
        const counted = await countHit(store, { ...hit, hits: 0 })
        if (!cannotFit(hit)) return counted
        return { ...counted, isOver: true, remaining: 0, after: hit.rule.limit + hit.hits }
      }),
    )
  }
  const requests = hits.map((hit) => ({ policy: policyOf(hit)!, key: hit.key, cost: hit.hits }))
  const { decisions, allowed } = await store.take(requests)
  return hits.map((hit, i) => outcome(hit, requests[i]!.policy, decisions[i], allowed))
}

/** Builds the outcome of a hit. Without a decision, the denial of another rule was cached, and the store was not called. */
function outcome(
  { rule, hits }: Hit,
  policy: Policy,
  decision: Decision | undefined,
  isTaken: boolean,
): HitOutcome {
  if (decision === undefined)
    return { isOver: false, remaining: 0, after: 0, resetSeconds: 0, degraded: undefined }
  const { allowed, remaining, degraded } = decision
  if (isUncounted(decision)) return uncountedOutcome(rule, hits, resetSecondsOf(policy, decision), degraded)
  const isOver = !isTaken && !allowed
  return {
    isOver,
    remaining: isOver ? 0 : remaining,
    after: isOver ? rule.limit + hits : rule.limit - remaining,
    resetSeconds: resetSecondsOf(policy, decision),
    degraded,
  }
}

function policyOf({ rule: { counter } }: Hit): Policy | undefined {
  return counter?.kind === 'fixed' ? counter.exact : counter?.policy
}

function nameOf(hit: Hit): string {
  return JSON.stringify([policyOf(hit)?.name, hit.key])
}
