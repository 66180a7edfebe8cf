import { isHashedKey } from '@tidegate/http'
import type { InForce } from '../in-force.js'
import { CHECK_SECONDS } from '../metrics/metrics.js'
import { type Breaker, type Counts, type DegradedMode, type Figures, quantile, since } from './figures.js'
import type { Instance, Instances } from './instances.js'
import type { TopKey } from './top-keys.js'

/** What the page is told every second. */
export interface LiveEvent {
  readonly timeMs: number
  /** Of how long the rates are, in seconds; 0 in the first event, which has none yet. */
  readonly seconds: number
  /** How many processes of this instance are added up. */
  readonly processes: number
  readonly policies: readonly PolicyRates[]
  /** All policies together. */
  readonly total: Rates
  /** How long a check took to be decided, in milliseconds; null if there was none. */
  readonly checkMs: { readonly p50: number; readonly p99: number } | null
  readonly state: 'well' | 'degraded' | 'store-down'
  /** The state in plain words. */
  readonly message: string
  readonly degraded: { readonly perSecond: number; readonly totals: Readonly<Record<DegradedMode, number>> }
  readonly store: {
    readonly kind: string
    readonly isUp: boolean
    readonly latencyMs: number
    readonly errors: number
  }
  readonly breaker: Breaker
  /** The id of the one that says this. */
  readonly instance: string
  readonly instances: readonly Instance[]
  /** Of the last minute. */
  readonly busiest: readonly KeyCount[]
  readonly refused: readonly KeyCount[]
}

interface PolicyRates extends Rates {
  readonly name: string
  readonly algorithm: string
  readonly onStoreFailure: DegradedMode
}

interface Rates {
  /** Per second. */
  readonly allowed: number
  readonly refused: number
  readonly allowedTotal: number
  readonly refusedTotal: number
}

interface KeyCount {
  readonly policy: string
  readonly key: string
  /** So often at most, and at least `error` less. */
  readonly count: number
  readonly error: number
  /** Whether it is shown as its hash, because the policy keeps its keys secret. */
  readonly isHashed: boolean
}

export interface Look {
  readonly timeMs: number
  /** By a clock that only goes forward. */
  readonly atMs: number
  readonly figures: Figures
}

interface Surroundings {
  readonly inForce: InForce
  readonly processes: number
  readonly store: LiveEvent['store']
  readonly instances: Instances
}

/** What has happened since the look before, and how things are now. */
export function liveEvent(before: Look | undefined, now: Look, around: Surroundings): LiveEvent {
  const { figures } = now
  const seconds = before === undefined ? 0 : Math.max(0, (now.atMs - before.atMs) / 1000)
  const passed = since(before?.figures ?? figures, figures)
  const perSecond = (count: number) => (seconds === 0 ? 0 : round(count / seconds, 1))
  const rates = (some: readonly string[]) => {
    const sum = (of: Readonly<Record<string, Counts>>, which: keyof Counts) =>
      some.reduce((total, name) => total + (of[name]?.[which] ?? 0), 0)
    return {
      allowed: perSecond(sum(passed.policies, 'allowed')),
      refused: perSecond(sum(passed.policies, 'refused')),
      allowedTotal: sum(figures.policies, 'allowed'),
      refusedTotal: sum(figures.policies, 'refused'),
    }
  }
  const names = [...around.inForce.policies.keys()].filter((name) => Object.hasOwn(figures.policies, name))
  const degraded = passed.degraded.open + passed.degraded.closed + passed.degraded.local
  const state = stateOf(around.store.isUp, figures.breaker, degraded)
  return {
    timeMs: now.timeMs,
    seconds: round(seconds, 3),
    processes: around.processes,
    policies: names.map((name) => {
      const { algorithm, policy } = around.inForce.policies.get(name)!
      return { name, algorithm, onStoreFailure: policy.onStoreFailure, ...rates([name]) }
    }),
    total: rates(names),
    checkMs: timesOf(passed.times),
    state,
    message: MESSAGES[state],
    degraded: { perSecond: perSecond(degraded), totals: figures.degraded },
    store: around.store,
    breaker: figures.breaker,
    instance: around.instances.self.id,
    instances: around.instances.list(),
    busiest: keysOf(figures.busiest, around.inForce),
    refused: keysOf(figures.refused, around.inForce),
  }
}

const MESSAGES: Readonly<Record<LiveEvent['state'], string>> = {
  well: 'All is well: the store decides every check.',
  degraded: 'Some checks were decided without the store, because it did not answer in time.',
  'store-down': 'The store does not answer: each policy answers as its onStoreFailure says.',
}

const SHOWN_KEYS = 20

function stateOf(isUp: boolean, breaker: Breaker, degraded: number): LiveEvent['state'] {
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

function keysOf(keys: readonly TopKey[], { policies }: InForce): KeyCount[] {
  const counts = keys.map(({ text, count, error }) => {
    const end = text.indexOf(' ')
    const policy = text.slice(0, end)
    const isHashed = policies.get(policy)?.hasSecretKeys === true
    return { policy, key: text.slice(end + 1), count, error, isHashed }
  })
  // A policy whose keys have only just become secret may have been noted before.
  return counts.filter(({ key, isHashed }) => !isHashed || isHashedKey(key)).slice(0, SHOWN_KEYS)
}

function round(value: number, decimals: number): number {
  return Number(value.toFixed(decimals))
}
