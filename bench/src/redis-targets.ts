import { type Figures, figureOf, type Measurement, ratioOf } from './figures.js'
import { OURS, PEERS } from './redis-contenders.js'
import { atLeast, atMost, type Result } from './targets.js'

/** What the store in Redis promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    ...OURS.map((name) =>
      atLeast(
        1.5,
        'x',
        `together: throughput of ${name} over the faster library`,
        overFasterLibrary('together', name),
      ),
    ),
    ...OURS.map((name) =>
      atMost(
        0.45,
        'x',
        `together: client CPU of ${name} over rate-limiter-flexible`,
        ratio('together', name, 'rate-limiter-flexible', 'cpuUs'),
      ),
    ),
    ...OURS.map((name) =>
      atMost(1.15, 'x', `alone: p50 of ${name} over plain EVALSHA`, figure('alone', name, 'p50ToYardstick')),
    ),
    atLeast(
      10,
      'x',
      'flood: refusals per second over the faster library',
      overFasterLibrary('flood', 'token bucket'),
    ),
    atMost(
      1,
      'calls',
      'flood: script calls per key and second',
      figure('flood', 'token bucket', 'callsPerKeyAndSecond'),
    ),
    ...['steady', 'refused'].map((mode) =>
      atMost(
        3,
        'x',
        `log: server time at limit 100,000 over limit 100, ${mode}`,
        ratio('log', `limit 100,000, ${mode}`, `limit 100, ${mode}`, 'serverUs'),
      ),
    ),
    atMost(
      5,
      'x',
      'log: server time of a cost of 1,000 over a cost of 1',
      ratio('log', 'limit 100,000, a cost of 1,000', 'limit 100,000, steady', 'serverUs'),
    ),
    atMost(
      1,
      'calls',
      'log: commands that write a cost of 1,000',
      figure('log', 'limit 100,000, a cost of 1,000', 'pushes'),
    ),
    ...['99,999 leave at once', 'all leave at once'].map((units) =>
      atMost(
        1,
        'ms',
        `log: longest hold of Redis, limit 100,000, ${units}`,
        figure('log', `limit 100,000, ${units}`, 'longestMs'),
      ),
    ),
    atMost(16, 'bytes', 'memory-log: one logged unit', figure('memory-log', 'sliding log', 'bytesPerUnit')),
    atMost(176, 'bytes', 'memory-key: one bucket', figure('memory-key', 'token bucket', 'bytesPerKey')),
  ]

  function overFasterLibrary(scenario: string, name: string): number {
    return Math.min(...PEERS.map((peer) => ratio(scenario, name, peer, 'perSecond')))
  }

  function ratio(scenario: string, one: string, other: string, name: keyof Figures): number {
    return ratioOf(all, { scenario, contender: one }, { scenario, contender: other }, name)
  }

  function figure(scenario: string, contender: string, name: keyof Figures): number {
    return figureOf(all, scenario, contender, name)
  }
}
