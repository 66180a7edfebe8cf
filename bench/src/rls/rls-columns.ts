import { type Columns, digits } from '../report/table.js'

export function columns(): Columns {
  return {
    headings: ['checks/s', 'checks/s per core', 'p50 ms', 'p99 ms', 'server CPU µs', 'failures'],
    row: ({ figures }) => [
      digits(figures.perSecond, 0),
      digits(1_000_000 / figures.cpuUs!, 0),
      digits(figures.p50Us! / 1000, 2),
      digits(figures.p99Us! / 1000, 2),
      digits(figures.cpuUs, 1),
      digits(figures.failures, 0),
    ],
  }
}
