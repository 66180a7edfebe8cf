import type { Decision, Policy } from '@tidegate/core'
import { collectDefaultMetrics, Histogram as PromHistogram, Registry } from 'prom-client'
import { ALGORITHM_LABELS, type AlgorithmLabel, labelOf } from '../algorithms.js'
import { expose, type Sample } from './exposed.js'
import { type Histogram, histogram, observe, samplesOf } from './histogram.js'

/*
 * What can be seen of the service. A label is an algorithm, a policy in force or one of a few words, never anything
 * that a client has sent: the number of series is known when the configuration is.
 */

/** What is counted of the checks by one policy. */
export interface Meter {
  readonly allowed: Histogram
  readonly refused: Histogram
  readonly counts: Counts
}

interface Counts {
  allowed: number
  refused: number
}

type BreakerState = (typeof BREAKER_STATES)[number]

/** What has been counted since the process began. */
interface Counted {
  readonly policies: Readonly<Record<string, Readonly<Counts>>>
  /** Of all checks, by `CHECK_SECONDS`. */
  readonly times: readonly number[]
  readonly degraded: Readonly<Record<NonNullable<Decision['degraded']>, number>>
  readonly storeErrors: number
  readonly breaker: BreakerState
}

/** How often the configuration was read again, by what came of it. */
export interface Reloads {
  readonly ok: number
  readonly failed: number
}

/** All of it at one moment, as prom-client writes it down. */
export type Measured = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Metrics {
  readonly registry: Registry
  /** The meters of the policies that are in force from now on, by name. One that was in force before counts on. */
  metersFor(policies: Iterable<Policy>): ReadonlyMap<string, Meter>
  countBatch(size: number): void
  countDegraded(mode: NonNullable<Decision['degraded']>): void
  countStoreError(): void
  /** A check was counted in this process because too many wait for the store. */
  countOverload(): void
  setStarved(isStarved: boolean): void
  countReload(result: keyof Reloads): void
  /** One that replaces another has seen as many as the others have. */
  addReloads(before: Reloads): void
  setBreaker(state: BreakerState): void
  /** A copy of the figures that the page shows. */
  counted(): Counted
}

const BREAKER_STATES = ['closed', 'half_open', 'open'] as const
/** In seconds: from what a check in memory takes to what nobody should wait for. */
export const CHECK_SECONDS = [
  0.00001, 0.000025, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** `isStoreUp` is asked whenever somebody looks. */
export function createMetrics(isStoreUp: () => boolean | Promise<boolean>): Metrics {
  const registry = new Registry()
  const byAlgorithm = new Map<AlgorithmLabel, { allowed: Histogram; refused: Histogram }>()
  for (const label of ALGORITHM_LABELS) {
    byAlgorithm.set(label, { allowed: histogram(CHECK_SECONDS), refused: histogram(CHECK_SECONDS) })
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
    help: 'How long checks took to be decided, in seconds.',
    type: 'histogram',
    samples: () =>
      [...byAlgorithm].flatMap(([algorithm, { allowed, refused }]) => [
        ...samplesOf('rate_limiter_check_seconds', { algorithm, allowed: 'true' }, allowed),
        ...samplesOf('rate_limiter_check_seconds', { algorithm, allowed: 'false' }, refused),
      ]),
  })
  expose(registry, {
    name: 'rate_limiter_requests_total',
    help: 'Checks that were decided, by algorithm.',
    type: 'counter',
    samples: () =>
      [...byAlgorithm].flatMap(([algorithm, { allowed, refused }]) =>
        bothOf({ algorithm }, { allowed: allowed.count, refused: refused.count }),
      ),
  })
  expose(registry, {
    name: 'rate_limiter_policy_requests_total',
    help: 'Checks that were decided, by policy.',
    type: 'counter',
    samples: () => [...byPolicy].flatMap(([policy, counts]) => bothOf({ policy }, counts)),
  })
  expose(registry, {
    name: 'rate_limiter_degraded_total',
    help: 'Answers that were given without the store, by how: open let through, closed refused, local counted here.',
    type: 'counter',
    samples: () => eachOf('mode', degraded),
  })
  expose(registry, {
    name: 'rate_limiter_store_errors_total',
    help: 'Calls that the store did not answer, or not in time.',
    type: 'counter',
    samples: () => [{ labels: {}, value: storeErrors }],
  })
  expose(registry, {
    name: 'rate_limiter_overload_total',
    help: 'Checks that were counted in this process because too many wait for a healthy store.',
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
    help: '1 if the store answers, 0 if not.',
    type: 'gauge',
    aggregator: 'min',
    samples: async () => [{ labels: {}, value: (await isStoreUp()) ? 1 : 0 }],
  })
  expose(registry, {
    name: 'rate_limiter_breaker_state',
    help: '1 for the state that the breaker before the store is in: open asks it nothing.',
    type: 'gauge',
    samples: () => BREAKER_STATES.map((state) => ({ labels: { state }, value: state === breaker ? 1 : 0 })),
  })
  expose(registry, {
    name: 'rate_limiter_batch_size',
    help: 'How many checks came in one batch.',
    type: 'histogram',
    samples: () => samplesOf('rate_limiter_batch_size', {}, batches),
  })
  expose(registry, {
    name: 'rate_limiter_config_reloads_total',
    help: 'How often the configuration was read again, and whether it was right.',
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
        const counts = byPolicy.get(policy.name) ?? { allowed: 0, refused: 0 }
        meters.set(policy.name, { ...byAlgorithm.get(labelOf(policy))!, counts })
      }
      byPolicy.clear()
      for (const [name, { counts }] of meters) byPolicy.set(name, counts)
      return meters
    },
    countBatch: (size) => observe(batches, size),
    countDegraded(mode) {
      degraded[mode]++
    },
    countOverload() {
      overloads++
    },

    setStarved(starved) {
      isStarved = starved
    },

    countStoreError() {
      storeErrors++
    },
    countReload(result) {
      reloads[result]++
    },
    addReloads({ ok, failed }) {
      reloads.ok += ok
      reloads.failed += failed
    },
    setBreaker(state) {
      breaker = state
    },
    counted() {
      const histograms = [...byAlgorithm.values()].flatMap(({ allowed, refused }) => [allowed, refused])
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
    meter.counts.refused++
    observe(meter.refused, seconds)
  }
}

function bothOf(labels: Record<string, string>, { allowed, refused }: Counts): Sample[] {
  return [
    { labels: { ...labels, allowed: 'true' }, value: allowed },
    { labels: { ...labels, allowed: 'false' }, value: refused },
  ]
}

function eachOf(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([word, value]) => ({ labels: { [label]: word }, value }))
}

/** What prom-client knows of the process, without what lists every connection to count them by kind. */
function exposeProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${what}`)
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  }
  const collections = registry.getSingleMetric('nodejs_gc_duration_seconds')
  // Otherwise each kind would be a new series when it first happens.
  if (collections instanceof PromHistogram) {
    for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind })
  }
}
