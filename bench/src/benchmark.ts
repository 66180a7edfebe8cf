import type { Figures, Measurement } from './figures.js'
import type { Columns } from './table.js'
import type { Result } from './targets.js'

/** A row of the table of what is measured. */
export interface Plan {
  title: string
  contenders: readonly string[]
  /** How often, at most, each contender is measured. What noise cannot change needs one round. */
  rounds: number
}

/** What `npm run bench <name>` runs. How it is run, shown and written down is the same for all of them. */
export interface Benchmark {
  name: string
  scenarios: Readonly<Record<string, Plan>>
  /** One contender in one scenario, in a process of its own. */
  measure(scenario: string, contender: string): Promise<Figures>
  /** What is shown of a scenario's measurements. */
  columns(scenario: string, all: readonly Measurement[]): Columns
  /** What was promised, and whether it holds. */
  judge(all: readonly Measurement[]): Result[]
  /** What its figures depend on, besides what is said of every run. */
  versions(): Readonly<Record<string, string>>
}
