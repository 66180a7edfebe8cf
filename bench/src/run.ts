import type { Benchmark } from './benchmark.js'
import { tablesOf, verdict } from './report.js'
import { saveRun } from './results.js'
import { measureAll } from './rounds.js'
import { asText } from './table.js'

/** Measures, shows, and keeps it. Answers whether every promise holds. */
export async function run(benchmark: Benchmark, quick: boolean): Promise<boolean> {
  const measurements = await measureAll(benchmark, quick)
  for (const table of tablesOf(benchmark, measurements)) console.log(asText(table))
  const results = benchmark.judge(measurements)
  console.log(`\n${verdict(results)}`)
  console.log(`Written to ${saveRun(benchmark, quick, measurements)}`)
  return results.every((result) => result.holds)
}
