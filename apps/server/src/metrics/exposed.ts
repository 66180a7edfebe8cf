import type { Metric, Registry } from 'prom-client'

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  /** Of a histogram's parts, whose names are not the metric's own. */
  readonly metricName?: string
}

export interface Exposed {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the values of several processes become one. Default: their sum. */
  readonly aggregator?: 'sum' | 'min' | 'max'
  /** Asked for whenever somebody looks. */
  samples(): readonly Sample[] | Promise<readonly Sample[]>
}

/**
 * A metric whose numbers are kept elsewhere. prom-client's own counters and histograms look up a hash of their labels
 * at every step, which is more work than the check that is counted.
 */
export function expose(registry: Registry, exposed: Exposed): void {
  const { name, help, type, aggregator = 'sum', samples } = exposed
  const metric = {
    name,
    help,
    type,
    aggregator,
    get: async () => ({ name, help, type, aggregator, values: await samples() }),
  }
  registry.registerMetric(metric as unknown as Metric)
}
