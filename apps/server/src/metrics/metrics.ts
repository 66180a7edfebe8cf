import type { Decision, Policy } from '@tidegate/core'
import { collectDefaultMetrics, Histogram as PromHistogram, Registry } from 'prom-client'
import { ALGORITHM_LABELS, type AlgorithmLabel, labelOf } from '../algorithms.js'
import { expose, type Sample } from './expose.js'
import { type Histogram, histogram, observe, samplesOf } from './histogram.js'

/*
 * The metrics of the service. Labels are algorithms, active policies and fixed words, and never input of clients, so that the
 * configuration alone determines the number of series.
 */

/** The counters of one policy. */
export interface Meter {
  readonly allowed: Histogram
  readonly denied: Histogram
  readonly counts: Counts
}

interface Counts {
  allowed: number
  denied: number
}

type BreakerState = (typeof BREAKER_STATES)[number]

/** The counts since the process started. */
interface CounterSnapshot {
  readonly policies: Readonly<Record<string, Readonly<Counts>>>
  /** Of all checks, by `CHECK_SECONDS`. */
  readonly times: readonly number[]
  readonly degraded: Readonly<Record<NonNullable<Decision['degraded']>, number>>
  readonly storeErrors: number
  readonly breaker: BreakerState
}

/** How often the configuration was reloaded, by result. */
export interface Reloads {
  readonly ok: number
  readonly failed: number
}

/** All metrics at one moment, in the format of prom-client. */
export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Metrics {
  readonly registry: Registry
  /** Sets the active policies, and returns their meters by name. A policy that was active before keeps its counts. */
  metersFor(policies: Iterable<Policy>): ReadonlyMap<string, Meter>
  recordBatch(size: number): void
  recordDegraded(mode: NonNullable<Decision['degraded']>): void
  recordStoreError(): void
  /** Counts a check that was counted in this process because too many wait for the store. */
  recordOverload(): void
  setStarved(isStarved: boolean): void
  recordReload(result: keyof Reloads): void
  /** Adds the reloads of the worker that this one replaces. */
  addReloads(before: Reloads): void
  setBreaker(state: BreakerState): void
  /** A copy of the counters for the dashboard. */
  snapshot(): CounterSnapshot
}

const BREAKER_STATES = ['closed', 'half_open', 'open'] as const
/** In seconds, from a check in memory to a timeout. */
export const CHECK_SECONDS = [
  0.00001, 0.000025, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** `isStoreUp` is called for each scrape. */
export function createMetrics(isStoreUp: () => boolean | Promise<boolean>): Metrics {
  const registry = new Registry()
  const byAlgorithm = new Map<AlgorithmLabel, { allowed: Histogram; denied: Histogram }>()
  for (const label of ALGORITHM_LABELS) {
    byAlgorithm.set(label, { allowed: histogram(CHECK_SECONDS), denied: histogram(CHECK_SECONDS) })
  }
  const byPolicy = new Map<string, Counts>()
  const batches = histogram(BATCH_SIZES)
  const degraded = { open: 0, closed: 0, local: 0 }
  const reloads = { ok: 0, failed: 0 }
  let storeErrors = 0
  let overloads = 0
  let isStarved = false
  let breaker: BreakerState = 'closed'

  expose(registry, {
    name: 'rate_limiter_check_seconds',
    help: 'Check latency in seconds.',
    type: 'histogram',
    samples: () =>
      [...byAlgorithm].flatMap(([algorithm, { allowed, denied }]) => [
        ...samplesOf('rate_limiter_check_seconds', { algorithm, allowed: 'true' }, allowed),
        ...samplesOf('rate_limiter_check_seconds', { algorithm, allowed: 'false' }, denied),
      ]),
  })
  expose(registry, {
    name: 'rate_limiter_requests_total',
    help: 'Decided checks, by algorithm.',
    type: 'counter',
    samples: () =>
      [...byAlgorithm].flatMap(([algorithm, { allowed, denied }]) =>
        bothOf({ algorithm }, { allowed: allowed.count, denied: denied.count }),
      ),
  })
  expose(registry, {
    name: 'rate_limiter_policy_requests_total',
    help: 'Decided checks, by policy.',
    type: 'counter',
    samples: () => [...byPolicy].flatMap(([policy, counts]) => bothOf({ policy }, counts)),
  })
  expose(registry, {
    name: 'rate_limiter_degraded_total',
    help: 'Decisions made without the store, by mode: open allowed, closed denied, local counted in this process.',
    type: 'counter',
    samples: () => eachOf('mode', degraded),
  })
  expose(registry, {
    name: 'rate_limiter_store_errors_total',
    help: 'Store calls that failed or timed out.',
    type: 'counter',
    samples: () => [{ labels: {}, value: storeErrors }],
  })
  expose(registry, {
    name: 'rate_limiter_overload_total',
    help: 'Checks counted in this process because too many were waiting for a healthy store.',
    type: 'counter',
    samples: () => [{ labels: {}, value: overloads }],
  })
  expose(registry, {
    name: 'rate_limiter_process_starved',
    help: '1 while this process gets too little CPU or its event loop is blocked.',
    type: 'gauge',
    aggregator: 'max',
    samples: () => [{ labels: {}, value: isStarved ? 1 : 0 }],
  })
  expose(registry, {
    name: 'rate_limiter_store_up',
    help: '1 if the store is available, 0 if not.',
    type: 'gauge',
    aggregator: 'min',
    samples: async () => [{ labels: {}, value: (await isStoreUp()) ? 1 : 0 }],
  })
  expose(registry, {
    name: 'rate_limiter_breaker_state',
    help: '1 for the current state of the circuit breaker; open means that the store is not called.',
    type: 'gauge',
    samples: () => BREAKER_STATES.map((state) => ({ labels: { state }, value: state === breaker ? 1 : 0 })),
  })
  expose(registry, {
    name: 'rate_limiter_batch_size',
    help: 'Checks per batch request.',
    type: 'histogram',
    samples: () => samplesOf('rate_limiter_batch_size', {}, batches),
  })
  expose(registry, {
    name: 'rate_limiter_config_reloads_total',
    help: 'Configuration reloads, by result.',
    type: 'counter',
    // Every process reads the same file.
    aggregator: 'max',
    samples: () => eachOf('result', reloads),
  })
  exposeProcess(registry)

  return {
    registry,
    metersFor(policies) {
      const meters = new Map<string, Meter>()
      for (const policy of policies) {
        const counts = byPolicy.get(policy.name) ?? { allowed: 0, denied: 0 }
        meters.set(policy.name, { ...byAlgorithm.get(labelOf(policy))!, counts })
      }
      byPolicy.clear()
      for (const [name, { counts }] of meters) byPolicy.set(name, counts)
      return meters
    },
    recordBatch: (size) => observe(batches, size),
    recordDegraded(mode) {
      degraded[mode]++
    },
    recordOverload() {
      overloads++
    },

    setStarved(starved) {
      isStarved = starved
    },

    recordStoreError() {
      storeErrors++
    },
    recordReload(result) {
      reloads[result]++
    },
    addReloads({ ok, failed }) {
      reloads.ok += ok
      reloads.failed += failed
    },
    setBreaker(state) {
      breaker = state
    },
    snapshot() {
      const histograms = [...byAlgorithm.values()].flatMap(({ allowed, denied }) => [allowed, denied])
      return {
        policies: Object.fromEntries([...byPolicy].map(([name, counts]) => [name, { ...counts }])),
        times: Array.from({ length: CHECK_SECONDS.length + 1 }, (_, i) =>
          histograms.reduce((sum, { counts }) => sum + counts[i]!, 0),
        ),
        degraded: { ...degraded },
        storeErrors,
        breaker,
      }
    },
  }
}

export function recordCheck(meter: Meter, allowed: boolean, seconds: number): void {
  if (allowed) {
    meter.counts.allowed++
    observe(meter.allowed, seconds)
  } else {
    meter.counts.denied++
    observe(meter.denied, seconds)
  }
}

function bothOf(labels: Record<string, string>, { allowed, denied }: Counts): Sample[] {
  return [
    { labels: { ...labels, allowed: 'true' }, value: allowed },
    { labels: { ...labels, allowed: 'false' }, value: denied },
  ]
}

function eachOf(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([word, value]) => ({ labels: { [label]: word }, value }))
}

/** The process metrics of prom-client, without those that list every connection at each scrape. */
function exposeProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}`)
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  }
  const collections = registry.getSingleMetric('nodejs_gc_duration_seconds')
  // Create all series at startup, and not at the first collection of a kind.
  if (collections instanceof PromHistogram) {
    for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind })
  }
}
