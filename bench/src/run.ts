import { PROMISES } from './promises.js'
import type { Benchmark } from './report/benchmark.js'
import { exitCodeOf, outcomeOf, tableOf, verdictOf } from './report/promise.js'
import { saveRun } from './report/results.js'
import { scenarioTables } from './report/scenario-tables.js'
import { asText } from './report/table.js'
import { measureAll } from './rounds.js'

/** Measures, prints and saves. Returns the exit code. */
export async function run(benchmark: Benchmark, quick: boolean): Promise<0 | 1> {
  const measurements = await measureAll(benchmark, quick)
  const file = saveRun(benchmark, quick, measurements)
  const outcomes = PROMISES.filter((promise) => promise.benchmark === benchmark.name).map((promise) =>
    outcomeOf(promise, measurements),
  )
  for (const table of [...scenarioTables(benchmark, measurements), tableOf(outcomes)]) {
    console.log(asText(table))
  }
  console.log(`\n${verdictOf(outcomes)}`)
  console.log(`Written to ${file}`)
  return exitCodeOf(outcomes)
}
