import type { Logger } from 'pino'
import type { BreakerSettings } from '../route.js'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.js'

/** The circuit breakers of all routes: one for each name and upstream. A reload keeps their state. */
export interface Breakers {
  /** Each call needs a matching `release`. */
  take(name: string, origin: string, settings: BreakerSettings): CircuitBreaker
  release(name: string, origin: string, settings: BreakerSettings): void
}

export function createBreakers(log: Logger): Breakers {
  const entries = new Map<string, { breaker: CircuitBreaker; holders: number }>()
  const keyOf = (...parts: unknown[]) => JSON.stringify(parts)
  return {
    take(name, origin, settings) {
      const key = keyOf(name, origin, settings)
      const fields = { breaker: name, upstream: origin }
      const entry = entries.get(key) ?? {
        holders: 0,
        breaker: createCircuitBreaker(settings, (change) => {
          if (change === 'closed') log.info(fields, 'Circuit breaker closed')
          else
            log.warn(
              { ...fields, waitMs: settings.waitMs },
              'Circuit breaker opened; no requests are sent to the upstream',
            )
        }),
      }
      entries.set(key, entry)
      entry.holders++
      return entry.breaker
    },
    release(name, origin, settings) {
      const key = keyOf(name, origin, settings)
      const entry = entries.get(key)
      if (entry !== undefined && --entry.holders === 0) entries.delete(key)
    },
  }
}
