import type { Logger } from 'pino'
import type { Health, StoreHealth } from '../health.js'
import type { InForce } from '../in-force.js'
import type { Metrics } from '../metrics/metrics.js'
import { type Figures, sumOf } from './figures.js'
import type { Instances } from './instances.js'
import { type Look, liveEvent } from './live-event.js'
import type { NotedKeys } from './noted-keys.js'

/** Tells whoever looks, once a second, what happens. Nothing is worked out while nobody does. */
export interface Live {
  /** What this process has counted; from now on it notes keys too, for a minute. */
  figures(): Figures
  /**
   * Calls with a `LiveEvent` as JSON: as soon as there is one, then every second. Answers how to stop; undefined if too
   * many look already. `onEnd` is called when there is no more to come.
   */
  watch(onEvent: (json: string) => void, onEnd: () => void): (() => void) | undefined
  /** Ends it for all who look. */
  close(): void
}

/** What is looked at. */
interface Watched {
  readonly inForce: InForce
  readonly metrics: Metrics
  readonly keys: NotedKeys
  readonly health: Health
  readonly instances: Instances
  readonly log: Logger
}

const PERIOD_MS = 1000
/** While the store hangs, what is known of it has to do: that is when people look. */
const HEALTH_WAIT_MS = 500
const MAX_WATCHERS = 32

interface Watcher {
  readonly onEvent: (json: string) => void
  readonly onEnd: () => void
}

/** `collect` asks every process of this instance. Default: there is only this one. */
export function createLive(
  service: () => Watched,
  collect?: (own: () => Figures) => Promise<readonly Figures[]>,
): Live {
  const watchers = new Set<Watcher>()
  let timer: NodeJS.Timeout | undefined
  let before: Look | undefined
  let last: string | undefined
  let isLooking = false
  let known: StoreHealth = { isUp: true, latencyMs: 0 }

  function figures(): Figures {
    const { metrics, keys } = service()
    keys.goOn()
    return { ...metrics.counted(), busiest: keys.busiest(), refused: keys.refused() }
  }

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    try {
      const all = collect === undefined ? [figures()] : await collect(figures)
      const { inForce, health, instances } = service()
      known = await Promise.race([health.look(), after(HEALTH_WAIT_MS, () => known)])
      const { isUp, latencyMs } = known
      const now = { timeMs: Date.now(), atMs: performance.now(), figures: sumOf(all) }
      const store = { kind: health.storeKind, isUp, latencyMs, errors: now.figures.storeErrors }
      const around = { inForce, processes: all.length, store, instances }
      // Written once, however many look.
      const json = JSON.stringify(liveEvent(before, now, around))
      before = now
      last = json
      for (const { onEvent } of [...watchers]) onEvent(json)
    } catch (error) {
      service().log.warn({ err: error }, 'What happens could not be told to those who look')
    } finally {
      isLooking = false
    }
  }

  function rest(): void {
    clearInterval(timer)
    timer = undefined
    before = undefined
    last = undefined
  }

  return {
    figures,
    watch(onEvent, onEnd) {
      if (watchers.size >= MAX_WATCHERS) return undefined
      const watcher = { onEvent, onEnd }
      watchers.add(watcher)
      if (timer === undefined) {
        timer = setInterval(() => void look(), PERIOD_MS).unref()
        void look()
      } else {
        // Later: whoever watches does not know yet how to stop.
        queueMicrotask(() => {
          if (last !== undefined && watchers.has(watcher)) onEvent(last)
        })
      }
      return () => {
        if (watchers.delete(watcher) && watchers.size === 0) rest()
      }
    },
    close() {
      const all = [...watchers]
      watchers.clear()
      rest()
      for (const { onEnd } of all) onEnd()
    },
  }
}

function after<T>(ms: number, value: () => T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value()), ms).unref())
}
