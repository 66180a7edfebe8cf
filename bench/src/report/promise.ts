import { type Figures, figuresOf, type Measurement, median } from './figures.js'
import { digits, type Table } from './table.js'

/** One row of the table of promises: a figure and the bound that it is held to. */
export interface BenchPromise {
  benchmark: string
  scenario: string
  /** For example "speed of token bucket over RateLimiterMemory". */
  claim: string
  bound: 'at least' | 'at most'
  target: number
  unit: 'x' | 'ms' | 'bytes' | 'calls' | '%'
  figure(round: Round): number
}

/** The figures of one contender in one round. Throws if the contender was not measured. */
export type Round = (scenario: string, contender: string) => Figures

/** A promise, its figure in each round, and the median, which is what counts. */
export interface Outcome {
  promise: BenchPromise
  rounds: readonly number[]
  median: number
  /** The part of the target by which the median misses it: 0.05 is 5 %. 0 if the promise holds. */
  missedBy: number
}

/** A promise without an outcome was not measured. */
export type Row = Outcome | BenchPromise

/** A miss of at most this part of the target is reported, and does not fail the run: it may be noise. */
const TOLERANCE = 0.1

export function outcomeOf(promise: BenchPromise, all: readonly Measurement[]): Outcome {
  const { scenario, benchmark } = promise
  const count = all.find((one) => one.scenario === scenario)?.rounds.length ?? 0
  if (count === 0) throw new Error(`The run of "${benchmark}" has no scenario "${scenario}".`)
  const rounds = Array.from({ length: count }, (_, round) =>
    promise.figure((scenario, contender) => figuresOf(all, { scenario, contender }, round)),
  )
  const value = median(rounds)
  return { promise, rounds, median: value, missedBy: missedBy(promise, value) }
}

/** 1 if a promise is missed by more than 10 %, otherwise 0. */
export function exitCodeOf(rows: readonly Row[]): 0 | 1 {
  return rows.some((row) => isMeasured(row) && row.missedBy > TOLERANCE) ? 1 : 0
}

export function verdictOf(rows: readonly Row[]): string {
  const measured = rows.filter(isMeasured)
  const missed = measured.filter((row) => row.missedBy > 0)
  if (missed.length === 0) return measured.length === 0 ? 'No promise was measured.' : 'Every promise holds.'
  const failed = missed.filter((row) => row.missedBy > TOLERANCE).length
  return `${missed.length} of ${measured.length} promises missed, ${failed} of them by more than 10 %.`
}

/** The one table of promises. */
export function tableOf(rows: readonly Row[]): Table {
  return {
    title: 'Promises',
    headings: ['', 'each run', 'median', 'promised', 'result'],
    rows: rows.map((row) => {
      const { benchmark, scenario, claim, bound, target, unit } = isMeasured(row) ? row.promise : row
      const show = (value: number) => digits(value, unit === 'bytes' ? 0 : 2)
      return [
        `${benchmark} ${scenario}: ${claim}`,
        isMeasured(row) ? row.rounds.map(show).join(', ') : '-',
        isMeasured(row) ? show(row.median) : '-',
        `${bound} ${target} ${unit}`,
        resultOf(row),
      ]
    }),
  }
}

function isMeasured(row: Row): row is Outcome {
  return 'promise' in row
}

function resultOf(row: Row): string {
  if (!isMeasured(row)) return 'not measured'
  const { missedBy } = row
  if (missedBy === 0) return 'holds'
  return Number.isFinite(missedBy) ? `missed by ${digits(missedBy * 100, 1)} %` : 'missed'
}

/** Infinity where no part can be computed: a target of 0, or a figure that is not a number. */
function missedBy({ bound, target }: BenchPromise, value: number): number {
  const excess = bound === 'at least' ? target - value : value - target
  if (excess <= 0) return 0
  if (Number.isNaN(excess) || target === 0) return Number.POSITIVE_INFINITY
  // Rounded, so that a miss of exactly 10 % is not above the tolerance by an error in the last bit.
  return Math.round((excess / target) * 1e9) / 1e9
}
