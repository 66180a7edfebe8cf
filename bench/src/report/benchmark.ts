import type { Figures, Measurement } from './figures.js'
import type { Columns } from './table.js'

/** One scenario of a benchmark. */
export interface Plan {
  title: string
  contenders: readonly string[]
}

/** What `npm run bench <name>` runs. `run.ts` runs, prints and saves all benchmarks in the same way. */
export interface Benchmark {
  name: string
  scenarios: Readonly<Record<string, Plan>>
  /** Measures one contender in one scenario, once, in its own process. */
  measure(scenario: string, contender: string): Promise<Figures>
  columns(scenario: string, all: readonly Measurement[]): Columns
  /** Versions of the programs and packages that the figures depend on. */
  versions(): Readonly<Record<string, string>>
}

/** The scenario of this name. */
export function scenarioIn<S>(scenarios: Readonly<Record<string, S>>, name: string): S {
  const scenario = scenarios[name]
  if (scenario === undefined) throw new Error(`Unknown scenario "${name}".`)
  return scenario
}
