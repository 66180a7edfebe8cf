import { countPerBin } from './bins.js'
import type { Run } from './simulate.js'

/** The number of released requests in each of `bins` equal parts of the axis. A leaky bucket releases after the delay. */
export function releasedPerBin({ atMs, allowed, delayMs }: Run, spanMs: number, bins: number): number[] {
  const releasedMs = atMs.flatMap((at, i) => (allowed[i] ? [at + delayMs[i]!] : []))
  return countPerBin(releasedMs, { startMs: 0, widthMs: spanMs / bins, count: bins })
}
