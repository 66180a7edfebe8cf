import type { Decision, Policy, Store } from '@tidegate/core'

/** The state of a key in one policy, now and later. */
export interface KeyState {
  readonly decision: Decision
  /** Units remaining after some time without checks, soonest first. */
  readonly ahead: readonly { readonly afterMs: number; readonly remaining: number }[]
}

/** Maximum number of points. */
const POINTS = 16

/**
 * Forecasts a key independently of the algorithm: the retry delay of a request for more units than remain is the time until
 * these are available.
 */
export async function forecastKey(store: Store, policy: Policy, key: string): Promise<KeyState> {
  const decision = await store.peek({ policy, key, cost: 1 })
  // Slots are freed when requests end, which cannot be forecast.
  if (decision.degraded !== undefined || policy.algorithm === 'concurrency') return { decision, ahead: [] }
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
