import type { Result } from './core-targets.js'
import { figureOf, type Measurement } from './figures.js'
import { SCENARIOS, type Scenario } from './scenarios.js'
import { printTable } from './table.js'

/** One table for each scenario, then one of what was promised. */
export function report(all: readonly Measurement[], results: readonly Result[]): void {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    const own = all.filter((one) => one.scenario === name)
    const { headings, row } = columns(scenario, all)
    console.log(`\n${name}: ${scenario.title}\n`)
    printTable(
      ['', ...headings],
      own.map((one) => [one.contender, ...row(one)]),
    )
  }
  console.log('\nPromises\n')
  printTable(
    ['', 'measured', 'promised', 'holds'],
    results.map(({ promise, value, unit, bound, target, holds }) => [
      promise,
      `${digits(value, unit === 'bytes' ? 0 : 2)} ${unit}`,
      `${bound} ${target} ${unit}`,
      holds ? 'yes' : 'NO',
    ]),
  )
  const failed = results.filter((result) => !result.holds).length
  console.log(
    failed === 0 ? '\nEvery promise holds.' : `\n${failed} of ${results.length} promises do not hold.`,
  )
}

interface Columns {
  headings: string[]
  row(of: Measurement): string[]
}

function columns(scenario: Scenario, all: readonly Measurement[]): Columns {
  switch (scenario.measure) {
    case 'speed':
    case 'log': {
      const others = scenario.comparedWith
      return {
        headings: [
          'ns per check',
          'median',
          'checks/s',
          ...others.map((other) => `speed to ${other.contender}`),
        ],
        row({ figures: { bestNs = Number.NaN, medianNs } }) {
          const ratios = others.map(
            (other) => figureOf(all, other.scenario, other.contender, 'bestNs') / bestNs,
          )
          const perSecond = Math.round(1e9 / bestNs).toLocaleString('en')
          return [
            digits(bestNs, 0),
            digits(medianNs, 0),
            perSecond,
            ...ratios.map((ratio) => `${digits(ratio, 2)} x`),
          ]
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
        headings: ['bytes per key', 'its text'],
        row: ({ figures }) => [digits(figures.bytesPerKey, 1), digits(figures.textBytes, 1)],
      }
  }
}

function digits(value: number | undefined, decimals: number): string {
  return value === undefined ? '-' : value.toFixed(decimals)
}
