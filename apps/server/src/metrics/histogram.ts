import type { Sample } from './expose.js'

/** Counts of values, by bucket. */
export interface Histogram {
  readonly bounds: readonly number[]
  /** Number of values in each bucket, not cumulative. The last bucket has no upper bound. */
  readonly counts: number[]
  sum: number
  count: number
}

export function histogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0, count: 0 }
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds, counts } = histogram
  let i = 0
  while (i < bounds.length && value > bounds[i]!) i++
  counts[i]!++
  histogram.sum += value
  histogram.count++
}

/** The series of a histogram for Prometheus: cumulative buckets, sum and count. */
export function samplesOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum, count }: Histogram,
): Sample[] {
  let upToHere = 0
  const buckets = bounds.map((bound, i): Sample => {
    upToHere += counts[i]!
    return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: upToHere }
  })
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
