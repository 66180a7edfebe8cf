import { figureOf, type Measurement } from './figures.js'
import { FASTIFY, OURS } from './gateway-scenarios.js'
import { atLeast, type Result } from './targets.js'

/** What the gateway promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    atLeast(
      1.3,
      'x',
      'get: the gateway over @fastify/http-proxy with @fastify/rate-limit',
      toBare(OURS) / toBare(FASTIFY),
    ),
    atLeast(0.85, 'x', 'get: the gateway over undici without a limiter', toBare(OURS)),
  ]

  function toBare(contender: string): number {
    return figureOf(all, 'get', contender, 'perSecondToYardstick')
  }
}
