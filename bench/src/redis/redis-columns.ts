import { type Figures, type Measurement, ratioOf } from '../report/figures.js'
import { type Columns, digits, ratio } from '../report/table.js'
import { redisScenarioNamed } from './redis-scenarios.js'

export function columns(name: string, all: readonly Measurement[]): Columns {
  const scenario = redisScenarioNamed(name)
  switch (scenario.measure) {
    case 'load':
      return {
        headings: ['checks/s', 'over the faster library', 'p50 µs', 'p99 µs', 'client CPU µs', 'server µs'],
        row: ({ figures }) => [
          digits(figures.perSecond, 0),
          ratio(figures.perSecondToBaseline),
          digits(figures.p50Us, 0),
          digits(figures.p99Us, 0),
          digits(figures.cpuUs, 2),
          digits(figures.serverUs, 2),
        ],
      }
    case 'alone':
      return {
        headings: ['p50 µs', `over ${scenario.baseline}`, 'p99 µs', 'client CPU µs'],
        row: ({ figures }) => [
          digits(figures.p50Us, 0),
          ratio(figures.p50ToBaseline ?? Number.NaN),
          digits(figures.p99Us, 0),
          digits(figures.cpuUs, 2),
        ],
      }
    case 'flood':
      return {
        headings: [
          'denials/s',
          ...ratioHeadings(scenario.comparedWith),
          'client CPU µs',
          'script calls per key and s',
          'checks per key and s',
        ],
        row: ({ contender, figures }) => [
          digits(figures.perSecond, 0),
          ...ratios(contender, scenario.comparedWith, 'perSecond'),
          digits(figures.cpuUs, 2),
          digits(figures.callsPerKeyAndSecond, 3),
          digits(figures.checksPerKeyAndSecond, 3),
        ],
      }
    case 'hot-key':
      return {
        headings: ['checks/s', ...ratioHeadings(scenario.comparedWith), 'store calls per check'],
        row: ({ contender, figures }) => [
          digits(figures.perSecond, 0),
          ...ratios(contender, scenario.comparedWith, 'perSecond'),
          digits(figures.callsPerCheck, 4),
        ],
      }
    case 'log':
      return {
        headings: ['server µs per check', 'longest µs', 'RPUSH per check'],
        row: ({ figures }) => [
          digits(figures.serverUs, 1),
          digits(figures.longestMs && figures.longestMs * 1000, 0),
          digits(figures.pushes, 0),
        ],
      }
    case 'memory':
      return {
        headings: ['bytes'],
        row: ({ figures }) => [digits(figures.bytesPerUnit ?? figures.bytesPerKey, 1)],
      }
  }

  function ratios(contender: string, others: readonly string[], figure: keyof Figures): string[] {
    const which = { scenario: name, contender }
    return others.map((other) => ratio(ratioOf(all, which, { scenario: name, contender: other }, figure)))
  }
}

function ratioHeadings(names: readonly string[]): string[] {
  return names.map((name) => `over ${name}`)
}
