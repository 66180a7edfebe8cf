import type { Benchmark } from './report/benchmark.js'
import { type Figures, type Measurement, overRounds } from './report/figures.js'

/** A promise is about the median of three runs. */
const ROUNDS = 3

/**
 * Measures every scenario. All contenders take their turn in each round: a slow minute of the machine is then slow for
 * all of them.
 */
export async function measureAll({ scenarios, measure }: Benchmark, quick: boolean): Promise<Measurement[]> {
  const runs = Object.entries(scenarios).flatMap(([scenario, { contenders }]) =>
    contenders.map((contender) => ({ scenario, contender, rounds: [] as Figures[] })),
  )
  const count = quick ? 1 : ROUNDS
  for (let round = 1; round <= count; round++) {
    for (const { scenario, contender, rounds } of runs) {
      const start = performance.now()
      rounds.push(await measureAgainIfFailed(() => measure(scenario, contender)))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.error(`round ${round} of ${count}: ${scenario}, ${contender}, ${seconds} s`)
    }
  }
  return runs.map((run) => ({ ...run, figures: overRounds(run.rounds) }))
}

/** Repeats a failed measurement once, because a stall of the machine should not end the whole run. */
async function measureAgainIfFailed(measure: () => Promise<Figures>): Promise<Figures> {
  try {
    return await measure()
  } catch (error) {
    console.error(`measuring again: ${(error as Error).message}`)
    return measure()
  }
}
