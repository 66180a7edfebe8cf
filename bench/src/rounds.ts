import { fork } from 'node:child_process'
import { type Figures, type Measurement, overRounds } from './figures.js'
import { SCENARIOS } from './scenarios.js'

/**
 * Measures every scenario of the table. All contenders take their turn in each round, one after another:
 * a machine that is slow for a minute is slow for all of them.
 */
export async function measureAll(child: URL, quick: boolean): Promise<Measurement[]> {
  const runs = Object.entries(SCENARIOS).flatMap(([scenario, { contenders, rounds: wanted }]) =>
    contenders.map((contender) => ({
      scenario,
      contender,
      wanted: quick ? 1 : wanted,
      rounds: [] as Figures[],
    })),
  )
  const last = Math.max(...runs.map((run) => run.wanted))
  for (let round = 1; round <= last; round++) {
    for (const scenario of Object.keys(SCENARIOS)) {
      const turns = runs.filter((run) => run.scenario === scenario && run.wanted >= round)
      const start = performance.now()
      for (const { contender, rounds } of turns) rounds.push(await inOwnProcess(child, scenario, contender))
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      if (turns.length > 0) console.error(`round ${round} of ${turns[0]!.wanted}: ${scenario}, ${seconds} s`)
    }
  }
  return runs.map(({ scenario, contender, rounds }) => ({
    scenario,
    contender,
    figures: overRounds(rounds),
    rounds,
  }))
}

function inOwnProcess(child: URL, scenario: string, contender: string): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const running = fork(child, [scenario, contender], { execArgv: ['--expose-gc'] })
    let figures: Figures | undefined
    running.on('message', (message) => {
      figures = message as Figures
    })
    running.on('error', reject)
    running.on('exit', (code) => {
      if (figures !== undefined && code === 0) resolve(figures)
      else reject(new Error(`"${contender}" in ${scenario} ended with code ${code}; its reason is above.`))
    })
  })
}
