import type { Benchmark } from './benchmark.js'
import { type Figures, type Measurement, overRounds } from './figures.js'

/**
 * Measures every scenario of the table. All contenders take their turn in each round, one after another:
 * a machine that is slow for a minute is slow for all of them.
 */
export async function measureAll({ scenarios, measure }: Benchmark, quick: boolean): Promise<Measurement[]> {
  const runs = Object.entries(scenarios).flatMap(([scenario, { contenders, rounds: wanted }]) =>
    contenders.map((contender) => ({
      scenario,
      contender,
      wanted: quick ? 1 : wanted,
      rounds: [] as Figures[],
    })),
  )
  const last = Math.max(...runs.map((run) => run.wanted))
  for (let round = 1; round <= last; round++) {
    for (const { scenario, contender, wanted, rounds } of runs) {
      if (wanted < round) continue
      const start = performance.now()
      rounds.push(await measure(scenario, contender))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.error(`round ${round} of ${wanted}: ${scenario}, ${contender}, ${seconds} s`)
    }
  }
  return runs.map(({ scenario, contender, rounds }) => ({
    scenario,
    contender,
    figures: overRounds(rounds),
    rounds,
  }))
}
