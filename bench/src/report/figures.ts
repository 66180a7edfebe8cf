/** The name of a figure ends in its unit. Each scenario has a few of them. */
export type FigureName =
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
  | 'p50ToBaseline'
  | 'perSecondToBaseline'
  | 'callsPerKeyAndSecond'
  | 'callsPerCheck'
  | 'checksPerKeyAndSecond'
  | 'serverUs'
  | 'longestMs'
  | 'pushes'
  | 'bytesPerUnit'
  | 'failures'
  | 'admitted'
  | 'allowed'
  | 'differencePercent'
  | 'fullestToLimit'
  | 'callsPerCheck'

/** The report of one process. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>

/** One contender in one scenario: its rounds and their summary. */
export interface Measurement {
  scenario: string
  contender: string
  figures: Figures
  rounds: readonly Figures[]
}

/** Names one contender in one scenario. */
export interface Which {
  scenario: string
  contender: string
}

/** The summary of all rounds: the median of each figure, but the worst pause and the most failures. */
export function overRounds(rounds: readonly Figures[]): Figures {
  const names = Object.keys(rounds[0] ?? {}) as FigureName[]
  return Object.fromEntries(
    names.map((name) => {
      const values = rounds.map((round) => round[name] ?? Number.NaN)
      const isWorst = name.endsWith('Ms') || name === 'failures'
      return [name, isWorst ? Math.max(...values) : median(values)]
    }),
  )
}

/** The figures of one contender in one round. */
export function figuresOf(measurements: readonly Measurement[], which: Which, round: number): Figures {
  const figures = find(measurements, which)?.rounds[round]
  if (figures === undefined) {
    throw new Error(`"${which.contender}" in ${which.scenario} was not measured in round ${round + 1}.`)
  }
  return figures
}

/**
 * The ratio of one figure of two contenders: the median of the ratios of each round. A slow minute of the machine is
 * then in both figures of a ratio.
 */
export function ratioOf(
  measurements: readonly Measurement[],
  numerator: Which,
  denominator: Which,
  name: FigureName,
): number {
  const rounds = find(measurements, numerator)?.rounds.length ?? 0
  if (rounds !== find(measurements, denominator)?.rounds.length) {
    throw new Error(
      `"${numerator.contender}" and "${denominator.contender}" were not measured in the same rounds.`,
    )
  }
  return median(
    Array.from({ length: rounds }, (_, round) => figure(numerator, round) / figure(denominator, round)),
  )

  function figure(which: Which, round: number): number {
    const value = figuresOf(measurements, which, round)[name]
    if (value === undefined) {
      throw new Error(`"${which.contender}" in ${which.scenario} has no figure "${name}".`)
    }
    return value
  }
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('An empty list has no median.')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function find(measurements: readonly Measurement[], { scenario, contender }: Which): Measurement | undefined {
  return measurements.find((one) => one.scenario === scenario && one.contender === contender)
}
