import { BARE } from './gateway-scenarios.js'
import { type Columns, digits, ratio } from './table.js'

/** What is shown of each contender. */
export function columns(): Columns {
  return {
    headings: ['requests/s', `to ${BARE}`, 'p50 ms', 'p99 ms', 'proxy CPU µs'],
    row: ({ figures }) => [
      digits(figures.perSecond, 0),
      ratio(figures.perSecondToYardstick ?? Number.NaN),
      digits(figures.p50Us! / 1000, 2),
      digits(figures.p99Us! / 1000, 2),
      digits(figures.cpuUs, 1),
    ],
  }
}
