import type { Policy } from '@tidegate/core'
import { sha256Hex } from '@tidegate/http'
import { createTopKeys, type TopKey } from './top-keys.js'

/** Who is counted most, and refused most. Only while somebody looks: otherwise a check does nothing for it. */
export interface NotedKeys {
  /** Whether checks are to be noted. */
  isOn: boolean
  note(by: CountedBy, key: string, allowed: boolean): void
  busiest(): TopKey[]
  refused(): TopKey[]
  /** Somebody looks: notes from now on, until nobody has looked for a minute. */
  goOn(): void
  close(): void
}

/** What a key is counted by, and whether it may be shown. */
interface CountedBy {
  readonly policy: Policy
  readonly hasSecretKeys: boolean
}

const FORGET_AFTER_MS = 60_000
/** More than are shown: several processes may be added up. */
const TOLD = 40

export function createNotedKeys(now: () => number = () => performance.now()): NotedKeys {
  const busiest = createTopKeys(now)
  const refused = createTopKeys(now)
  let ending: NodeJS.Timeout | undefined

  function stop(): void {
    clearTimeout(ending)
    ending = undefined
    keys.isOn = false
    busiest.clear()
    refused.clear()
  }

  const keys: NotedKeys = {
    isOn: false,
    note({ policy, hasSecretKeys }, key, allowed) {
      // A policy's name has no space in it.
      const text = `${policy.name} ${hasSecretKeys ? `sha256:${sha256Hex(key)}` : key}`
      busiest.add(text)
      if (!allowed) refused.add(text)
    },
    busiest: () => busiest.top(TOLD),
    refused: () => refused.top(TOLD),
    goOn() {
      keys.isOn = true
      if (ending === undefined) ending = setTimeout(stop, FORGET_AFTER_MS).unref()
      else ending.refresh()
    },
    close: stop,
  }
  return keys
}
