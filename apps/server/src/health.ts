import { fixedWindow, type Store } from '@tidegate/core'

/** The result of a probe of the store. */
export interface StoreHealth {
  readonly isUp: boolean
  readonly latencyMs: number
}

export interface Health {
  /** `memory`, `redis`, `rediss`, `redis+sentinel` or `redis+cluster`. */
  readonly storeKind: string
  /** Probes the store. Results are reused for a moment, so that health checks do not overload it. */
  probe(): Promise<StoreHealth>
}

/**
 * The probe writes, because a full store or a replica accepts reads but rejects writes. Its limit is never reached, and names
 * of policies in a file cannot begin with `tidegate-`.
 */
const PROBE = {
  policy: fixedWindow({ name: 'tidegate-health', limit: 1_000_000_000, window: '1s' }),
  key: 'probe',
  cost: 1,
}
const FRESH_MS = 250

export function watchHealth(store: Store, storeKind: string): Health {
  let probing: Promise<StoreHealth> | undefined
  let probedAt = Number.NEGATIVE_INFINITY

  async function send(): Promise<StoreHealth> {
    const start = performance.now()
    const isUp = await Promise.resolve(store.check(PROBE)).then(
      // The fallback is `open` if the store failed, and `local` if only too many calls are in flight.
      (decision) => decision.degraded !== 'open',
      () => false,
    )
    probedAt = performance.now()
    return { isUp, latencyMs: Math.round((probedAt - start) * 1000) / 1000 }
  }

  return {
    storeKind,
    probe() {
      // Concurrent callers share one probe.
      if (probing === undefined || performance.now() - probedAt > FRESH_MS) {
        probedAt = Number.POSITIVE_INFINITY
        probing = send()
      }
      return probing
    },
  }
}
