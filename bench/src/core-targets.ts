import { type Figures, figureOf, type Measurement } from './figures.js'
import { ALGORITHMS, FAST_ALGORITHMS } from './scenarios.js'

/** Something promised, what it came to, and whether it holds. */
export interface Result {
  promise: string
  value: number
  unit: 'x' | 'ms' | 'bytes'
  bound: 'at least' | 'at most'
  target: number
  holds: boolean
}

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
    const promise = `${scenario}: speed of ${name} over ${peer}`
    return { promise, value, unit: 'x', bound: 'at least', target, holds: value >= target }
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

function atMost(target: number, unit: Result['unit'], promise: string, value: number): Result {
  return { promise, value, unit, bound: 'at most', target, holds: value <= target }
}
