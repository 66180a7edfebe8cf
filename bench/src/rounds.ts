import { fork } from 'node:child_process'
import { SCENARIOS } from './scenarios.js'

/** What one process reported. */
export type Figures = Readonly<Record<string, number>>

/** All rounds of one contender in one scenario. */
export interface Measurement {
  scenario: string
  contender: string
  rounds: Figures[]
}

/**
 * Measures every scenario of the table. All contenders take their turn in each round, one after another:
 * a machine that is slow for a minute is slow for all of them.
 */
export async function measureAll(child: URL, roundsOf: (rounds: number) => number): Promise<Measurement[]> {
  const measurements = Object.entries(SCENARIOS).flatMap(([scenario, { contenders }]) =>
    contenders.map((contender): Measurement => ({ scenario, contender, rounds: [] })),
  )
  const rounds = Math.max(...Object.values(SCENARIOS).map((scenario) => roundsOf(scenario.rounds)))
  for (let round = 0; round < rounds; round++) {
    for (const [scenario, { contenders, rounds: wanted }] of Object.entries(SCENARIOS)) {
      if (round >= roundsOf(wanted)) continue
      const start = performance.now()
      for (const measurement of measurements.filter((one) => one.scenario === scenario)) {
        measurement.rounds.push(await inOwnProcess(child, scenario, measurement.contender))
      }
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.error(
        `round ${round + 1} of ${rounds}: ${scenario}, ${contenders.length} contenders, ${seconds} s`,
      )
    }
  }
  return measurements
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
