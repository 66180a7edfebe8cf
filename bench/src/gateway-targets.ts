import { figureOf, type Measurement, ratioOf } from './figures.js'
import { FASTIFY, OURS } from './gateway-scenarios.js'
import { atLeast, type Result } from './targets.js'

/** What the gateway promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    atLeast(
      1.3,
      'x',
      'get: the gateway over @fastify/http-proxy with @fastify/rate-limit',
      // Both by turns with the same yardstick, in the same round.
      ratioOf(
        all,
        { scenario: 'get', contender: OURS },
        { scenario: 'get', contender: FASTIFY },
        'perSecondToYardstick',
      ),
    ),
    atLeast(
      0.85,
      'x',
      'get: the gateway over undici without a limiter',
      figureOf(all, 'get', OURS, 'perSecondToYardstick'),
    ),
  ]
}
