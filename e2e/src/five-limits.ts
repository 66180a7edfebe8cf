import {
  fixedWindow,
  leakyBucket,
  type OnStoreFailure,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { type HistoryOptions, verify } from './history/history.js'
import type { Made } from './load.js'

/** One policy of each algorithm, all of 50 a second. */
export function fiveLimits(onStoreFailure: OnStoreFailure = 'open'): ReadonlyMap<string, Policy> {
  const windows = { limit: 50, window: '1s', onStoreFailure } as const
  const policies = [
    fixedWindow({ ...windows, name: 'fixed' }),
    slidingWindowLog({ ...windows, name: 'log' }),
    slidingWindowCounter({ ...windows, name: 'counter' }),
    tokenBucket({ capacity: 50, refillRate: 50, name: 'token', onStoreFailure }),
    leakyBucket({ capacity: 50, leakRate: 50, name: 'leaky', onStoreFailure }),
  ]
  return new Map(policies.map((policy) => [policy.name, policy]))
}

/** The same for the configuration file of a service. */
export function fiveLimitsYaml(onStoreFailure: OnStoreFailure = 'open'): string {
  const windows = `limit: 50, window: 1s, onStoreFailure: ${onStoreFailure}`
  return `policies:
  fixed: { algorithm: fixed-window, ${windows} }
  log: { algorithm: sliding-window-log, ${windows} }
  counter: { algorithm: sliding-window-counter, ${windows} }
  token: { algorithm: token-bucket, capacity: 50, refillRate: 50, onStoreFailure: ${onStoreFailure} }
  leaky: { algorithm: leaky-bucket, capacity: 50, leakRate: 50, onStoreFailure: ${onStoreFailure} }
`
}

const NAMES = [...fiveLimits().keys()]

/** Checks a few keys of each limit in turn, so that each key gets several times its limit. */
export function inTurn(prefix: string, keys: number): (n: number) => { policy: string; key: string } {
  return (n) => ({
    policy: NAMES[n % NAMES.length]!,
    key: `${prefix}-${Math.floor(n / NAMES.length) % keys}`,
  })
}

/** The violations of each of the five limits in a run. */
export function violationsOf(made: readonly Made[], options: HistoryOptions = {}): string[] {
  return [...fiveLimits().values()].flatMap((policy) =>
    verify(
      made.filter((one) => one.policy === policy.name),
      policy,
      options,
    ).violations.map((text) => `${policy.name}, ${text}`),
  )
}
