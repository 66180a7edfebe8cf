import type { Policy } from '@tidegate/core'
import { sha256Hex } from '@tidegate/http'
import { createTopKeys, type TopKey } from './top-keys.js'

/** Tracks the keys with the most checks and the most denials, only while a live stream is open. */
export interface KeyTracker {
  /** Whether checks must be recorded. */
  isTracking: boolean
  record(policy: TrackedPolicy, key: string, allowed: boolean): void
  busiest(): TopKey[]
  denied(): TopKey[]
  /** Starts tracking, or continues it for another minute. */
  keepTracking(): void
  close(): void
}

/** The policy of a key, and whether the key may be shown. */
interface TrackedPolicy {
  readonly policy: Policy
  readonly hasSecretKeys: boolean
}

const TRACKING_MS = 60_000
/** More than the dashboard shows, because the lists of several processes are merged. */
const REPORTED_KEYS = 40

export function createKeyTracker(now: () => number = () => performance.now()): KeyTracker {
  const busiest = createTopKeys(now)
  const denied = createTopKeys(now)
  let ending: NodeJS.Timeout | undefined

  function stop(): void {
    clearTimeout(ending)
    ending = undefined
    keys.isTracking = false
    busiest.clear()
    denied.clear()
  }

  const keys: KeyTracker = {
    isTracking: false,
    record({ policy, hasSecretKeys }, key, allowed) {
      // A policy's name has no space in it.
      const text = `${policy.name} ${hasSecretKeys ? `sha256:${sha256Hex(key)}` : key}`
      busiest.add(text)
      if (!allowed) denied.add(text)
    },
    busiest: () => busiest.top(REPORTED_KEYS),
    denied: () => denied.top(REPORTED_KEYS),
    keepTracking() {
      keys.isTracking = true
      if (ending === undefined) ending = setTimeout(stop, TRACKING_MS).unref()
      else ending.refresh()
    },
    close: stop,
  }
  return keys
}
