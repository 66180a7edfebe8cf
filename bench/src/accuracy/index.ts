import type { Benchmark } from '../report/benchmark.js'
import { digits } from '../report/table.js'
import { redisVersion, versionsOf } from '../report/versions.js'
import { ACCURACY_SCENARIOS } from './accuracy-scenarios.js'
import { measureAccuracy } from './measure-accuracy.js'

/** The exactness of one limit over several processes, and its cost. */
export const accuracy: Benchmark = {
  name: 'accuracy',
  scenarios: ACCURACY_SCENARIOS,
  measure: measureAccuracy,
  columns: () => ({
    headings: [
      'admitted',
      'allowed',
      'difference %',
      'fullest second / limit',
      'calls per check',
      'client CPU µs',
    ],
    row: ({ figures }) => [
      digits(figures.admitted, 0),
      digits(figures.allowed, 0),
      digits(figures.differencePercent, 2),
      digits(figures.fullestToLimit, 2),
      digits(figures.callsPerCheck, 3),
      digits(figures.cpuUs, 1),
    ],
  }),
  versions: () => ({
    Redis: redisVersion(),
    ...versionsOf('ioredis', 'rate-limiter-flexible', 'rate-limit-redis', '@upstash/ratelimit', 'bottleneck'),
  }),
}
