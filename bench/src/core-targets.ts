import { ALGORITHMS, FAST_ALGORITHMS } from './core-scenarios.js'
import { type Figures, figureOf, type Measurement } from './figures.js'
import { atLeast, atMost, type Result } from './targets.js'

/** What the store in memory promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    ...FAST_ALGORITHMS.flatMap((name) => [
      faster(name, '10k-awaited', 'RateLimiterMemory', 2),
      faster(name, '10k-awaited', 'express MemoryStore', 0.85),
    ]),
    ...FAST_ALGORITHMS.flatMap((name) => [
      faster(name, '10k-plain', 'RateLimiterMemory', 4),
      faster(name, '10k-plain', 'express MemoryStore', 1.5),
    ]),
    ...FAST_ALGORITHMS.map((name) =>
      atMost(
        1.5,
        'x',
        `1m-plain: cost of ${name} over bare Map`,
        ns('1m-plain', name) / ns('1m-plain', 'bare Map'),
      ),
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
        ns(scenario, 'limit 100,000') / ns(scenario, 'limit 100'),
      ),
    ),
  ]

  /** The peers are always the awaited ones, whichever way ours is called. */
  function faster(name: string, scenario: string, peer: string, target: number): Result {
    const value = ns('10k-awaited', peer) / ns(scenario, name)
    return atLeast(target, 'x', `${scenario}: speed of ${name} over ${peer}`, value)
  }

  function smaller(name: string, scenario: string): Result {
    return atMost(200, 'bytes', `${scenario}: one key of ${name}`, figure(scenario, name, 'bytesPerKey'))
  }

  function ns(scenario: string, contender: string): number {
    return figure(scenario, contender, 'bestNs')
  }

  function figure(scenario: string, contender: string, name: keyof Figures): number {
    return figureOf(all, scenario, contender, name)
  }
}
