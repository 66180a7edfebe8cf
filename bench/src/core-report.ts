import { figureOf, type Summary } from './core-summary.js'
import type { Result } from './core-targets.js'
import { SCENARIOS, type Scenario, type SpeedScenario } from './scenarios.js'
import { printTable } from './table.js'

/** One table for each scenario, then one of what was promised. */
export function report(summaries: readonly Summary[], results: readonly Result[]): void {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    console.log(`\n${name}: ${scenario.title}\n`)
    printScenario(name, scenario, summaries)
  }
  console.log('\nPromises\n')
  printTable(
    ['', 'measured', 'promised', 'holds'],
    results.map(({ promise, value, unit, bound, target, holds }) => [
      promise,
      `${value.toFixed(unit === 'bytes' ? 0 : 2)} ${unit}`,
      `${bound} ${target} ${unit}`,
      holds ? 'yes' : 'NO',
    ]),
  )
  const failed = results.filter((result) => !result.holds).length
  console.log(
    failed === 0 ? '\nEvery promise holds.' : `\n${failed} of ${results.length} promises do not hold.`,
  )
}

function printScenario(name: string, scenario: Scenario, summaries: readonly Summary[]): void {
  const own = summaries.filter((summary) => summary.scenario === name)
  switch (scenario.measure) {
    case 'speed':
      return printSpeed(scenario, own, summaries)
    case 'log':
      return printTable(
        ['limit', 'ns per check', 'median', `to ${own[0]!.contender}`],
        own.map(({ contender, figures }) => [
          contender,
          ...nanoseconds(figures),
          `${(figures['bestNs']! / own[0]!.figures['bestNs']!).toFixed(2)} x`,
        ]),
      )
    case 'pauses':
      return printTable(
        ['', 'growth, ms', 'eviction, ms', 'growth by round', 'eviction by round'],
        own.map(({ contender, figures, rounds }) => [
          contender,
          milliseconds(figures['growthMs']),
          milliseconds(figures['evictionMs']),
          rounds.map((round) => milliseconds(round['growthMs'])).join(' '),
          rounds.map((round) => milliseconds(round['evictionMs'])).join(' '),
        ]),
      )
    case 'memory':
      return printTable(
        ['', 'bytes per key', 'its text'],
        own.map(({ contender, figures }) => [
          contender,
          figures['bytesPerKey']!.toFixed(1),
          figures['textBytes']!.toFixed(1),
        ]),
      )
  }
}

function printSpeed(scenario: SpeedScenario, own: readonly Summary[], all: readonly Summary[]): void {
  const { comparedWith } = scenario
  printTable(
    [
      '',
      'ns per check',
      'median',
      'checks/s',
      ...comparedWith.map(({ contender }) => `speed to ${contender}`),
    ],
    own.map(({ contender, figures }) => [
      contender,
      ...nanoseconds(figures),
      Math.round(1e9 / figures['bestNs']!).toLocaleString('en'),
      ...comparedWith.map((other) => {
        const theirs = figureOf(all, other.scenario, other.contender, 'bestNs')
        return `${(theirs / figures['bestNs']!).toFixed(2)} x`
      }),
    ]),
  )
}

function nanoseconds(figures: Summary['figures']): string[] {
  return [figures['bestNs']!.toFixed(0), figures['medianNs']!.toFixed(0)]
}

function milliseconds(ms: number | undefined): string {
  return ms === undefined ? '-' : ms.toFixed(2)
}
