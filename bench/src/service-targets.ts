import { figureOf, type Measurement } from './figures.js'
import { MEMORY, REDIS } from './service-scenarios.js'
import { atLeast, atMost, type Result } from './targets.js'

/** What the service promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    atLeast(0.8, 'x', 'throughput: checks in memory over a bare route', toBare(MEMORY)),
    atLeast(0.5, 'x', 'throughput: checks on Redis over a bare route', toBare(REDIS)),
    atMost(10, 'ms', 'steady: p99 of checks on Redis', figureOf(all, 'steady', REDIS, 'p99Us') / 1000),
    atMost(0, 'calls', 'steady: failures on Redis', figureOf(all, 'steady', REDIS, 'failures')),
  ]

  function toBare(contender: string): number {
    return figureOf(all, 'throughput', contender, 'perSecondToYardstick')
  }
}
