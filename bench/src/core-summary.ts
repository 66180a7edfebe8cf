import { median } from './median.js'
import type { Measurement } from './rounds.js'

/** What the rounds of one contender in one scenario come to. */
export interface Summary {
  scenario: string
  contender: string
  figures: Readonly<Record<string, number>>
  rounds: readonly Readonly<Record<string, number>>[]
}

/** Noise only ever adds time, so a process gives its best batch; of the processes, the middle one counts. */
export function summarize({ scenario, contender, rounds }: Measurement): Summary {
  const figures: Record<string, number> = {}
  for (const name of Object.keys(rounds[0] ?? {})) {
    const values = rounds.map((round) => round[name]!)
    // Of the longest pauses the longest: "never" is said of all rounds.
    figures[name] = name.endsWith('Ms') ? Math.max(...values) : median(values)
  }
  return { scenario, contender, figures, rounds }
}

export function figureOf(
  summaries: readonly Summary[],
  scenario: string,
  contender: string,
  name: string,
): number {
  const found = summaries.find((one) => one.scenario === scenario && one.contender === contender)
  const figure = found?.figures[name]
  if (figure === undefined) throw new Error(`"${contender}" in ${scenario} has no figure "${name}".`)
  return figure
}
