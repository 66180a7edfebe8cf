import type { Decision, Policy, Store } from '@tidegate/core'

/** What a key has of one policy, now and later. */
export interface KeyState {
  readonly decision: Decision
  /** When how much would be there if nobody came, soonest first: as far as it was asked for. */
  readonly ahead: readonly { readonly afterMs: number; readonly remaining: number }[]
}

/** How many points of a curve are asked for. */
const POINTS = 16

/**
 * Any store can be asked what it would say later without knowing how it counts: how long a request must wait that costs
 * one more than there is now, is when that much will be there.
 */
export async function keyAhead(store: Store, policy: Policy, key: string): Promise<KeyState> {
  const decision = await store.peek({ policy, key, cost: 1 })
  if (decision.degraded !== undefined) return { decision, ahead: [] }
  const { remaining, limit } = decision
  const missing = limit - remaining
  const costs = new Set(
    Array.from({ length: Math.min(POINTS, missing) }, (_, i) => {
      return remaining + Math.max(1, Math.round(((i + 1) * missing) / Math.min(POINTS, missing)))
    }),
  )
  const later = await Promise.all([...costs].map((cost) => store.peek({ policy, key, cost })))
  const ahead = later
    .filter(({ degraded }) => degraded === undefined)
    .map(({ retryAfterMs, cost }) => ({ afterMs: retryAfterMs, remaining: cost }))
  return { decision, ahead: ahead.sort((a, b) => a.afterMs - b.afterMs || a.remaining - b.remaining) }
}
