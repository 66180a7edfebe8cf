import { turnColumns } from '../load/turn-columns.js'
import { type Columns, digits } from '../report/table.js'
import { BARE_ROUTE, serviceScenarioNamed } from './service-scenarios.js'

export function columns(name: string): Columns {
  switch (serviceScenarioNamed(name).measure) {
    case 'flat-out': {
      const { headings, row } = turnColumns(BARE_ROUTE)
      return {
        headings: [...headings, 'failures'],
        row: (measured) => [...row(measured), digits(measured.figures.failures, 0)],
      }
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
