/** What is measured. A name ends in its unit; each scenario has its own few. */
type FigureName =
  | 'bestNs'
  | 'medianNs'
  | 'growthMs'
  | 'growthOnCpuMs'
  | 'growthWithoutGcMs'
  | 'growthMeanNs'
  | 'evictionMs'
  | 'evictionOnCpuMs'
  | 'evictionWithoutGcMs'
  | 'evictionMeanNs'
  | 'bytesPerKey'
  | 'textBytes'
  | 'perSecond'
  | 'cpuUs'
  | 'bareUs'
  | 'addedUs'
  | 'p50Us'
  | 'p99Us'
  | 'p50ToYardstick'
  | 'perSecondToYardstick'
  | 'callsPerKeyAndSecond'
  | 'checksPerKeyAndSecond'
  | 'serverUs'
  | 'longestMs'
  | 'pushes'
  | 'bytesPerUnit'
  | 'failures'

/** What one process reports. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>

/** One contender in one scenario: its rounds, and what they come to. */
export interface Measurement {
  scenario: string
  contender: string
  figures: Figures
  rounds: readonly Figures[]
}

/** Noise only ever adds time, so a process gives its best batch; of the processes, the middle one counts. */
export function overRounds(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0] ?? {}) as FigureName[]
  return Object.fromEntries(
    names.map((name) => {
      const values = rounds.map((round) => round[name] ?? Number.NaN)
      // Of the longest pauses the longest, of failures the most: "never" is said of all rounds.
      const isWorst = name.endsWith('Ms') || name === 'failures'
      return [name, isWorst ? Math.max(...values) : median(values)]
    }),
  )
}

export function figureOf(
  measurements: readonly Measurement[],
  scenario: string,
  contender: string,
  name: FigureName,
): number {
  const found = measurements.find((one) => one.scenario === scenario && one.contender === contender)
  const figure = found?.figures[name]
  if (figure === undefined) throw new Error(`"${contender}" in ${scenario} has no figure "${name}".`)
  return figure
}

/** Which contender, in which scenario. */
export interface Which {
  scenario: string
  contender: string
}

/**
 * One figure over another. In each round all contenders take their turn, a few seconds apart: what the two come to in one
 * round is compared, and of the rounds the median counts.
 */
export function ratioOf(
  measurements: readonly Measurement[],
  one: Which,
  other: Which,
  name: FigureName,
): number {
  const [ours, theirs] = [one, other].map(({ scenario, contender }) =>
    roundsOf(measurements, scenario, contender).map((round) => round[name] ?? Number.NaN),
  )
  if (ours!.length !== theirs!.length) {
    throw new Error(`"${one.contender}" and "${other.contender}" were measured in other rounds.`)
  }
  return median(ours!.map((figure, round) => figure / theirs![round]!))
}

function roundsOf(
  measurements: readonly Measurement[],
  scenario: string,
  contender: string,
): readonly Figures[] {
  const found = measurements.find((one) => one.scenario === scenario && one.contender === contender)
  if (found === undefined) throw new Error(`"${contender}" was not measured in ${scenario}.`)
  return found.rounds
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('There is no median of nothing.')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
