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
  if (figure === undefined) throw missing(scenario, contender, name)
  return figure
}

/** Which contender, in which scenario. */
export interface Which {
  scenario: string
  contender: string
}

/**
 * One figure over another. In each round all contenders take their turn: what the two come to in one round is compared,
 * and of the rounds the median counts.
 */
export function ratioOf(
  measurements: readonly Measurement[],
  one: Which,
  other: Which,
  name: FigureName,
): number {
  const ours = roundsOf(measurements, one, name)
  const theirs = roundsOf(measurements, other, name)
  if (ours.length !== theirs.length) {
    throw new Error(`"${one.contender}" and "${other.contender}" were not measured in the same rounds.`)
  }
  return median(ours.map((figure, round) => figure / theirs[round]!))
}

function roundsOf(
  measurements: readonly Measurement[],
  { scenario, contender }: Which,
  name: FigureName,
): number[] {
  const found = measurements.find((one) => one.scenario === scenario && one.contender === contender)
  return (found?.rounds ?? []).map((round) => {
    const figure = round[name]
    if (figure === undefined) throw missing(scenario, contender, name)
    return figure
  })
}

function missing(scenario: string, contender: string, name: FigureName): Error {
  return new Error(`"${contender}" in ${scenario} has no figure "${name}".`)
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('There is no median of nothing.')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
