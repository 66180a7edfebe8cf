import type { Logger } from 'pino'
import type { ActiveConfig } from '../active-config.js'
import type { Health, StoreHealth } from '../health.js'
import type { Metrics } from '../metrics/metrics.js'
import type { KeyTracker } from '../top-keys/key-tracker.js'
import { buildLiveEvent, type LiveSample } from './build-live-event.js'
import { type Counters, sumCounters } from './counters.js'
import type { InstanceRegistry } from './instances.js'

/** Sends live events once a second while at least one client watches. */
export interface Live {
  /** The counters of this process. Also starts tracking keys, for a minute. */
  counters(): Counters
  /**
   * Calls `onEvent` with a `LiveEvent` as JSON, at once and then every second, and `onEnd` after the last one. Returns a
   * function that stops; undefined if there are too many watchers.
   */
  watch(onEvent: (json: string) => void, onEnd: () => void): (() => void) | undefined
  /** Ends all streams. */
  close(): void
}

/** The parts of the service that an event describes. */
interface LiveSource {
  readonly activeConfig: ActiveConfig
  readonly metrics: Metrics
  readonly keys: KeyTracker
  readonly health: Health
  readonly instanceRegistry: InstanceRegistry
  readonly log: Logger
}

const PERIOD_MS = 1000
/** While the store hangs, events are sent with its last known state. */
const HEALTH_WAIT_MS = 500
const MAX_WATCHERS = 32

interface Watcher {
  readonly onEvent: (json: string) => void
  readonly onEnd: () => void
}

/** `collect` returns the counters of every process of this instance. Default: only this process. */
export function createLive(
  service: () => LiveSource,
  collect?: (own: () => Counters) => Promise<readonly Counters[]>,
): Live {
  const watchers = new Set<Watcher>()
  let timer: NodeJS.Timeout | undefined
  let before: LiveSample | undefined
  let last: string | undefined
  let isSampling = false
  let lastHealth: StoreHealth = { isUp: true, latencyMs: 0 }

  function counters(): Counters {
    const { metrics, keys } = service()
    keys.keepTracking()
    return { ...metrics.snapshot(), busiest: keys.busiest(), denied: keys.denied() }
  }

  async function sendEvent(): Promise<void> {
    if (isSampling) return
    isSampling = true
    try {
      const all = collect === undefined ? [counters()] : await collect(counters)
      const { activeConfig, health, instanceRegistry } = service()
      lastHealth = await Promise.race([health.probe(), after(HEALTH_WAIT_MS, () => lastHealth)])
      const { isUp, latencyMs } = lastHealth
      const now = { timeMs: Date.now(), atMs: performance.now(), counters: sumCounters(all) }
      const store = { kind: health.storeKind, isUp, latencyMs, errors: now.counters.storeErrors }
      const context = { activeConfig, processes: all.length, store, instanceRegistry }
      // Serialized once for all watchers.
      const json = JSON.stringify(buildLiveEvent(before, now, context))
      before = now
      last = json
      for (const { onEvent } of [...watchers]) onEvent(json)
    } catch (error) {
      service().log.warn({ err: error }, 'Live event could not be sent')
    } finally {
      isSampling = false
    }
  }

  function pause(): void {
    clearInterval(timer)
    timer = undefined
    before = undefined
    last = undefined
  }

  return {
    counters,
    watch(onEvent, onEnd) {
      if (watchers.size >= MAX_WATCHERS) return undefined
      const watcher = { onEvent, onEnd }
      watchers.add(watcher)
      if (timer === undefined) {
        timer = setInterval(() => void sendEvent(), PERIOD_MS).unref()
        void sendEvent()
      } else {
        // Delayed, because the caller does not have the stop function yet.
        queueMicrotask(() => {
          if (last !== undefined && watchers.has(watcher)) onEvent(last)
        })
      }
      return () => {
        if (watchers.delete(watcher) && watchers.size === 0) pause()
      }
    },
    close() {
      const all = [...watchers]
      watchers.clear()
      pause()
      for (const { onEnd } of all) onEnd()
    },
  }
}

function after<T>(ms: number, value: () => T): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(value()), ms).unref())
}
