import type { Benchmark } from './benchmark.js'
import type { Measurement } from './figures.js'
import { digits, type Table } from './table.js'
import type { Result } from './targets.js'

/** One table for each scenario, then one of what was promised. */
export function tablesOf(benchmark: Benchmark, all: readonly Measurement[]): Table[] {
  const scenarios = Object.entries(benchmark.scenarios).map(([name, { title }]) => {
    const { headings, row } = benchmark.columns(name, all)
    const rows = all.filter((one) => one.scenario === name).map((one) => [one.contender, ...row(one)])
    return { title: `${name}: ${title}`, headings: ['', ...headings], rows }
  })
  return [...scenarios, promises(benchmark.judge(all))]
}

export function verdict(results: readonly Result[]): string {
  const failed = results.filter((result) => !result.holds).length
  return failed === 0 ? 'Every promise holds.' : `${failed} of ${results.length} promises do not hold.`
}

function promises(results: readonly Result[]): Table {
  return {
    title: 'Promises',
    headings: ['', 'measured', 'promised', 'holds'],
    rows: results.map(({ promise, value, unit, bound, target, holds }) => [
      promise,
      `${digits(value, unit === 'bytes' ? 0 : 2)} ${unit}`,
      `${bound} ${target} ${unit}`,
      holds ? 'yes' : 'NO',
    ]),
  }
}
