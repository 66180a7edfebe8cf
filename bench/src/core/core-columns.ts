import { type Measurement, ratioOf } from '../report/figures.js'
import { type Columns, digits, ratio } from '../report/table.js'
import type { Scenario } from './core-scenarios.js'

export function columns(scenario: Scenario, all: readonly Measurement[]): Columns {
  switch (scenario.measure) {
    case 'speed':
    case 'log': {
      const others = scenario.comparedWith
      return {
        headings: [
          'ns per check',
          'median ns',
          'checks/s',
          ...others.map((other) => `speed over ${other.contender}`),
        ],
        row(measured) {
          const { bestNs = Number.NaN, medianNs } = measured.figures
          const ratios = others.map((other) => ratioOf(all, other, measured, 'bestNs'))
          return [digits(bestNs, 0), digits(medianNs, 0), digits(1e9 / bestNs, 0), ...ratios.map(ratio)]
        },
      }
    }
    case 'pauses':
      return {
        headings: [
          'growth, ms',
          'on CPU',
          'less GC',
          'mean ns',
          'eviction, ms',
          'on CPU',
          'less GC',
          'mean ns',
        ],
        row: ({ figures }) => [
          digits(figures.growthMs, 2),
          digits(figures.growthOnCpuMs, 2),
          digits(figures.growthWithoutGcMs, 2),
          digits(figures.growthMeanNs, 0),
          digits(figures.evictionMs, 2),
          digits(figures.evictionOnCpuMs, 2),
          digits(figures.evictionWithoutGcMs, 2),
          digits(figures.evictionMeanNs, 0),
        ],
      }
    case 'memory':
      return {
        headings: ['bytes per key', 'key text, bytes'],
        row: ({ figures }) => [digits(figures.bytesPerKey, 1), digits(figures.textBytes, 1)],
      }
  }
}
