import type { Run } from './simulate.js'
import { countPerBin } from './times.js'

/**
 * How many requests went on their way in each of `bins` equal parts of the axis: at once, or from a leaky
 * bucket when they had waited as long as they were told.
 */
export function throughPerBin({ atMs, allowed, delayMs }: Run, spanMs: number, bins: number): number[] {
  const left = atMs.flatMap((at, i) => (allowed[i] ? [at + delayMs[i]!] : []))
  return countPerBin(left, spanMs, bins)
}
