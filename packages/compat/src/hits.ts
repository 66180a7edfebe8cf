import { type Decision, type Limiter, type MaybePromise, TidegateError } from '@tidegate/core'
import { createExpiringMap } from './expiring-map.js'

/** A hit of a client, in the terms of the libraries. */
export interface Hit {
  isDenied: boolean
  /** The number of hits so far, including this one; above the limit if denied, 0 if the store was unavailable. */
  used: number
  /** The wait if denied, else the time until the full limit is available, in milliseconds. */
  waitMs: number
  decision: Decision
}

/**
 * Counts hits. Denied hits are not counted by the store, but the libraries report how far a client is above its limit, so
 * each process numbers its denied hits.
 */
export function createHits() {
  const deniedHits = createExpiringMap<{ count: number }>()
  const nameOf = ({ policy }: Limiter, key: string) => `${policy.name}:${key}`

  return {
    async add(limiter: Limiter, key: string): Promise<Hit> {
      const decision = await limiter.check(key)
      assertDecided(decision)
      const { allowed, degraded, limit, remaining, resetAfterMs, retryAfterMs } = decision
      if (degraded === 'open') return { isDenied: false, used: 0, waitMs: 0, decision }
      const name = nameOf(limiter, key)
      if (allowed) {
        deniedHits.delete(name)
        return { isDenied: false, used: limit - remaining, waitMs: resetAfterMs, decision }
      }
      const denied = deniedHits.get(name) ?? { count: 0 }
      if (++denied.count === 1) deniedHits.set(name, denied, retryAfterMs)
      return { isDenied: true, used: limit + denied.count, waitMs: retryAfterMs, decision }
    },

    /** Returns the hits so far, without counting one. */
    async read(limiter: Limiter, key: string): Promise<Hit> {
      const decision = await limiter.peek(key)
      assertDecided(decision)
      const { allowed, degraded, limit, remaining, resetAfterMs, retryAfterMs } = decision
      if (degraded === 'open') return { isDenied: false, used: 0, waitMs: 0, decision }
      if (allowed) return { isDenied: false, used: limit - remaining, waitMs: resetAfterMs, decision }
      const denied = deniedHits.get(nameOf(limiter, key))?.count ?? 0
      const beyond = decision.reason === 'blocked' ? Math.max(1, denied) : denied
      return { isDenied: true, used: limit + beyond, waitMs: retryAfterMs, decision }
    },

    async reset(limiter: Limiter, key: string): Promise<void> {
      deniedHits.delete(nameOf(limiter, key))
      await limiter.reset(key)
    },
  }
}

/** Throws for a `closed` decision, to which the library responds like to any error of its store. */
function assertDecided({ degraded, policy }: Decision): void {
  if (degraded !== 'closed') return
  throw new TidegateError('STORE_FAILED', `The store is unavailable, and "${policy}" fails closed.`)
}

/** Awaits an optional call, and ignores store failures. */
export async function unlessUnavailable(call: MaybePromise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if ((error as Partial<TidegateError>).code !== 'STORE_FAILED') throw error
  }
}
