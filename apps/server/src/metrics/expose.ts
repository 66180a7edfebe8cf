import type { Metric, Registry } from 'prom-client'

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  /** For the parts of a histogram, which have their own names. */
  readonly metricName?: string
}

export interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the values of several processes are combined. Default: their sum. */
  readonly aggregator?: 'sum' | 'min' | 'max'
  /** Called for each scrape. */
  samples(): readonly Sample[] | Promise<readonly Sample[]>
}

/**
 * Registers a metric whose values are kept elsewhere: counters and histograms of prom-client hash their labels at every
 * update, which costs more than a check.
 */
export function expose(registry: Registry, exposed: MetricDefinition): void {
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
