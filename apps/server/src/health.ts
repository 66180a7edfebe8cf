import { fixedWindow, type Store } from '@tidegate/core'

/** How the store was when it was last asked. */
export interface StoreHealth {
  readonly isUp: boolean
  readonly latencyMs: number
}

export interface Health {
  /** `memory`, `redis`, `rediss`, `redis+sentinel` or `redis+cluster`. */
  readonly storeKind: string
  /** Asks the store, unless it was asked a moment ago: whoever may look at the health must not be able to load it. */
  look(): Promise<StoreHealth>
}

/**
 * It is counted, because a store may answer and yet take nothing: one that is full, or a replica. Its limit is never
 * reached, and no file can name a policy like it.
 */
const PROBE = {
  policy: fixedWindow({ name: 'tidegate-health', limit: 1_000_000_000, window: '1s' }),
  key: 'probe',
  cost: 1,
}
const FRESH_MS = 250

export function watchHealth(store: Store, storeKind: string): Health {
  let looking: Promise<StoreHealth> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  async function ask(): Promise<StoreHealth> {
    const start = performance.now()
    const isUp = await Promise.resolve(store.check(PROBE)).then(
      // Open is how it is answered when the store fails; when only too much is in flight, it would be local.
      (decision) => decision.degraded !== 'open',
      () => false,
    )
    lookedAt = performance.now()
    return { isUp, latencyMs: Math.round((lookedAt - start) * 1000) / 1000 }
  }

  return {
    storeKind,
    look() {
      // While one is asked for, everybody waits for that one.
      if (looking === undefined || performance.now() - lookedAt > FRESH_MS) {
        lookedAt = Number.POSITIVE_INFINITY
        looking = ask()
      }
      return looking
    },
  }
}
