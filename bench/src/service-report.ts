import { BARE, serviceScenarioNamed } from './service-scenarios.js'
import { type Columns, digits, ratio } from './table.js'

/** What is shown of each contender in a scenario. */
export function columns(name: string): Columns {
  switch (serviceScenarioNamed(name).measure) {
    case 'flat-out':
      return {
        headings: ['requests/s', `to ${BARE}`, 'p50 ms', 'p99 ms', 'server CPU µs', 'failures'],
        row: ({ figures }) => [
          digits(figures.perSecond, 0),
          ratio(figures.perSecondToYardstick ?? Number.NaN),
          digits(figures.p50Us! / 1000, 2),
          digits(figures.p99Us! / 1000, 2),
          digits(figures.cpuUs, 1),
          digits(figures.failures, 0),
        ],
      }
    case 'steady':
      return {
        headings: ['requests/s', 'p50 ms', 'p99 ms', 'failures'],
        row: ({ figures }) => [
          digits(figures.perSecond, 0),
          digits(figures.p50Us! / 1000, 2),
          digits(figures.p99Us! / 1000, 2),
          digits(figures.failures, 0),
        ],
      }
  }
}
