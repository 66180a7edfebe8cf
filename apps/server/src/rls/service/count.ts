import type { Decision, FullStore, Policy } from '@tidegate/core'
import type { DescriptorRule } from '../limits/rule.js'

/** A rule of a request, with the hits to count. */
export interface Hit {
  readonly rule: DescriptorRule
  readonly key: string
  /** 0 takes nothing; a negative number gives units back. */
  readonly hits: number
}

/** The outcome of the hits of one rule. */
export interface HitOutcome {
  readonly isOver: boolean
  readonly remaining: number
  /** The number of hits in the window, after this one; at least one above the limit if it is over. */
  readonly after: number
  /** Whole seconds, rounded up. */
  readonly resetSeconds: number
  /** The decision of `onStoreFailure`, if the store was unavailable. */
  readonly degraded: Decision['degraded']
}

/** Counts one rule, independently of the others of its request. */
export async function countHit(store: FullStore, hit: Hit): Promise<HitOutcome> {
  const { rule, key, hits } = hit
  const { counter } = rule
  if (counter === undefined) return ALWAYS_OVER
  const policy = counter.kind === 'fixed' ? counter.counting : counter.policy
  if (hits < 0) await store.refund({ policy, key, timeMs: await timeOf(store, policy, key), cost: -hits })
  if (hits <= 0) return peekOutcome(rule, policy, await store.peek({ policy, key, cost: 1 }))
  if (counter.kind === 'fixed') {
    if (hits === 1) return fixedOutcome(rule, policy, await store.check({ policy, key, cost: 1 }), 1)
    return fixedOutcome(rule, policy, await store.charge({ policy, key, cost: hits }), hits)
  }
  if (hits > rule.limit) {
    const now = rollingOutcome(rule, await store.peek({ policy, key, cost: 1 }))
    return { ...now, isOver: true, remaining: 0, after: rule.limit + hits }
  }
  return rollingOutcome(rule, await store.check({ policy, key, cost: hits }))
}

/** The store's time, which names the window of a refund. */
async function timeOf(store: FullStore, policy: Policy, key: string): Promise<number> {
  return (await store.peek({ policy, key, cost: 1 })).timeMs
}

/** The outcome of a policy with room for one hit more than the limit. */
function fixedOutcome(rule: DescriptorRule, policy: Policy, decision: Decision, hits: number): HitOutcome {
  const { allowed, remaining, overBy = 0, degraded } = decision
  const resetSeconds = resetSecondsOf(policy, decision)
  if (isUncounted(decision)) return uncountedOutcome(rule, hits, resetSeconds, degraded)
  // A process that counts its share of the limit has no room for the extra hit.
  const isShare = degraded === 'local' && policy.instances > 1
  const counted = allowed ? policy.limit - remaining + overBy : rule.limit + hits
  const isOver = isShare ? !allowed || overBy > 0 : counted > rule.limit
  const after = isOver ? Math.max(counted, rule.limit + 1) : Math.min(counted, rule.limit)
  return { isOver, remaining: isOver ? 0 : rule.limit - after, after, resetSeconds, degraded }
}

function peekOutcome(rule: DescriptorRule, policy: Policy, decision: Decision): HitOutcome {
  if (rule.counter?.kind === 'rolling') return rollingOutcome(rule, decision)
  return fixedOutcome(rule, policy, { ...decision, allowed: decision.degraded !== 'closed' }, 0)
}

function rollingOutcome(rule: DescriptorRule, decision: Decision): HitOutcome {
  const { allowed, remaining, retryAfterMs, resetAfterMs, degraded, cost } = decision
  const resetSeconds = Math.ceil((allowed ? resetAfterMs : retryAfterMs) / 1000)
  if (isUncounted(decision)) return uncountedOutcome(rule, cost, resetSeconds, degraded)
  return {
    isOver: !allowed,
    remaining: allowed ? remaining : 0,
    after: allowed ? rule.limit - remaining : rule.limit + cost,
    resetSeconds,
    degraded,
  }
}

/** Whether `onStoreFailure: open` or `closed` decided, without any count. */
export function isUncounted({ degraded }: Decision): boolean {
  return degraded === 'open' || degraded === 'closed'
}

/** The outcome of `open` or `closed`. Even `open` denies hits above the whole limit, and all hits of a limit of 0. */
export function uncountedOutcome(
  rule: DescriptorRule,
  hits: number,
  resetSeconds: number,
  degraded: Decision['degraded'],
): HitOutcome {
  const isOver = degraded === 'closed' || hits > rule.limit
  return {
    isOver,
    remaining: 0,
    after: isOver ? rule.limit + Math.max(1, hits) : hits,
    resetSeconds,
    degraded,
  }
}

/** The time until the window ends, also for a key without a count. */
export function resetSecondsOf(policy: Policy, { timeMs, resetAfterMs }: Decision): number {
  if (policy.algorithm !== 'fixed-window' || policy.windowKind !== 'epoch')
    return Math.ceil(resetAfterMs / 1000)
  const windowMs = policy.windowUs / 1000
  return Math.ceil((windowMs - (timeMs % windowMs)) / 1000)
}

const ALWAYS_OVER: HitOutcome = { isOver: true, remaining: 0, after: 1, resetSeconds: 1, degraded: undefined }
