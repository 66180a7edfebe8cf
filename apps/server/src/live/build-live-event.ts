import { isHashedKey } from '@tidegate/http'
import type { ActiveConfig } from '../active-config.js'
import { CHECK_SECONDS } from '../metrics/metrics.js'
import type { TopKey } from '../top-keys/top-keys.js'
import { type BreakerLabel, type Counters, type Counts, quantile, since } from './counters.js'
import type { InstanceRegistry } from './instances.js'
import type { KeyCount, LiveEvent } from './live-event.js'

export interface LiveSample {
  readonly timeMs: number
  /** By a monotonic clock. */
  readonly atMs: number
  readonly counters: Counters
}

interface LiveContext {
  readonly activeConfig: ActiveConfig
  readonly processes: number
  readonly store: LiveEvent['store']
  readonly instanceRegistry: InstanceRegistry
}

/** Builds the event from two samples: the rates between them, and the current state. */
export function buildLiveEvent(
  before: LiveSample | undefined,
  now: LiveSample,
  context: LiveContext,
): LiveEvent {
  const { counters } = now
  const seconds = before === undefined ? 0 : Math.max(0, (now.atMs - before.atMs) / 1000)
  const increase = since(before?.counters ?? counters, counters)
  const perSecond = (count: number) => (seconds === 0 ? 0 : round(count / seconds, 1))
  const rates = (some: readonly string[]) => {
    const sum = (of: Readonly<Record<string, Counts>>, which: keyof Counts) =>
      some.reduce((total, name) => total + (of[name]?.[which] ?? 0), 0)
    return {
      allowed: perSecond(sum(increase.policies, 'allowed')),
      denied: perSecond(sum(increase.policies, 'denied')),
      allowedTotal: sum(counters.policies, 'allowed'),
      deniedTotal: sum(counters.policies, 'denied'),
    }
  }
  const names = [...context.activeConfig.policies.keys()].filter((name) =>
    Object.hasOwn(counters.policies, name),
  )
  const degraded = increase.degraded.open + increase.degraded.closed + increase.degraded.local
  const state = stateOf(context.store.isUp, counters.breaker, degraded)
  return {
    timeMs: now.timeMs,
    seconds: round(seconds, 3),
    processes: context.processes,
    policies: names.map((name) => {
      const { algorithm, policy } = context.activeConfig.policies.get(name)!
      return { name, algorithm, onStoreFailure: policy.onStoreFailure, ...rates([name]) }
    }),
    total: rates(names),
    checkMs: timesOf(increase.times),
    state,
    message: MESSAGES[state],
    degraded: { perSecond: perSecond(degraded), totals: counters.degraded },
    store: context.store,
    breaker: counters.breaker,
    instance: context.instanceRegistry.self.id,
    instances: context.instanceRegistry.list(),
    busiest: keysOf(counters.busiest, context.activeConfig),
    denied: keysOf(counters.denied, context.activeConfig),
  }
}

const MESSAGES: Readonly<Record<LiveEvent['state'], string>> = {
  well: 'Healthy: the store decides every check.',
  degraded: 'Degraded: some checks were decided without the store, because it timed out.',
  'store-down': 'Store unavailable: each policy uses its onStoreFailure.',
}

const SHOWN_KEYS = 20

function stateOf(isUp: boolean, breaker: BreakerLabel, degraded: number): LiveEvent['state'] {
  if (!isUp || breaker === 'open') return 'store-down'
  return degraded > 0 || breaker === 'half_open' ? 'degraded' : 'well'
}

function timesOf(times: readonly number[]): LiveEvent['checkMs'] {
  const p50 = quantile(0.5, CHECK_SECONDS, times)
  const p99 = quantile(0.99, CHECK_SECONDS, times)
  return p50 === undefined || p99 === undefined
    ? null
    : { p50: round(p50 * 1000, 4), p99: round(p99 * 1000, 4) }
}

function keysOf(keys: readonly TopKey[], { policies }: ActiveConfig): KeyCount[] {
  const counts = keys.map(({ text, count, error }) => {
    const end = text.indexOf(' ')
    const policy = text.slice(0, end)
    const isHashed = policies.get(policy)?.hasSecretKeys === true
    return { policy, key: text.slice(end + 1), count, error, isHashed }
  })
  // Keys that were recorded before their policy became secret are left out.
  return counts.filter(({ key, isHashed }) => !isHashed || isHashedKey(key)).slice(0, SHOWN_KEYS)
}

function round(value: number, decimals: number): number {
  return Number(value.toFixed(decimals))
}
