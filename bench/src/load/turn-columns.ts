import { type Columns, digits, ratio } from '../report/table.js'

/** The columns of servers that take turns with a baseline. */
export function turnColumns(baseline: string): Columns {
  return {
    headings: ['requests/s', `over ${baseline}`, 'p50 ms', 'p99 ms', 'server CPU µs'],
    row: ({ figures }) => [
      digits(figures.perSecond, 0),
      ratio(figures.perSecondToBaseline),
      digits(figures.p50Us! / 1000, 2),
      digits(figures.p99Us! / 1000, 2),
      digits(figures.cpuUs, 1),
    ],
  }
}
