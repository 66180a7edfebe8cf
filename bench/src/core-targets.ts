import { ALGORITHMS, FAST_ALGORITHMS } from './core-scenarios.js'
import { type Figures, figureOf, type Measurement, ratioOf } from './figures.js'
import { atLeast, atMost, type Result } from './targets.js'

/** The promises about the memory store, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    ...FAST_ALGORITHMS.map((name) => faster(name, '10k-awaited', 'RateLimiterMemory', 1.8)),
    ...FAST_ALGORITHMS.map((name) => faster(name, '10k-plain', 'RateLimiterMemory', 3)),
    ...FAST_ALGORITHMS.map((name) =>
      atMost(1.5, 'x', `1m-plain: cost of ${name} over bare Map`, cost(name, 'bare Map', '1m-plain')),
    ),
    ...ALGORITHMS.flatMap((name) => [
      atMost(5, 'ms', `pauses: longest check of ${name}, growth`, figure('pauses', name, 'growthMs')),
      atMost(5, 'ms', `pauses: longest check of ${name}, eviction`, figure('pauses', name, 'evictionMs')),
    ]),
    ...ALGORITHMS.map((name) => smaller(name, 'memory-short')),
    smaller('token bucket', 'memory-long'),
    ...['log-steady', 'log-refused'].map((scenario) =>
      atMost(
        3,
        'x',
        `${scenario}: cost at limit 100,000 over limit 100`,
        cost('limit 100,000', 'limit 100', scenario),
      ),
    ),
  ]

  /** Peers are always awaited, also where Tidegate is not. */
  function faster(name: string, scenario: string, peer: string, target: number): Result {
    const value = ratioOf(
      all,
      { scenario: '10k-awaited', contender: peer },
      { scenario, contender: name },
      'bestNs',
    )
    return atLeast(target, 'x', `${scenario}: speed of ${name} over ${peer}`, value)
  }

  function smaller(name: string, scenario: string): Result {
    return atMost(80, 'bytes', `${scenario}: one key of ${name}`, figure(scenario, name, 'bytesPerKey'))
  }

  function cost(one: string, other: string, scenario: string): number {
    return ratioOf(all, { scenario, contender: one }, { scenario, contender: other }, 'bestNs')
  }

  function figure(scenario: string, contender: string, name: keyof Figures): number {
    return figureOf(all, scenario, contender, name)
  }
}
