import type { Benchmark } from './benchmark.js'
import type { Measurement } from './figures.js'
import type { Table } from './table.js'

/** One table per scenario, one row per contender. */
export function scenarioTables(benchmark: Benchmark, all: readonly Measurement[]): Table[] {
  return Object.entries(benchmark.scenarios).map(([name, { title }]) => {
    const { headings, row } = benchmark.columns(name, all)
    const rows = all.filter((one) => one.scenario === name).map((one) => [one.contender, ...row(one)])
    return { title: `${name}: ${title}`, headings: ['', ...headings], rows }
  })
}
