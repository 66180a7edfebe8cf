import { figureOf, type Measurement } from './figures.js'
import { BARE, FASTIFY, OURS } from './gateway-scenarios.js'
import { atLeast, type Result } from './targets.js'

/** What the gateway promises, in the order of the scenarios. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    atLeast(
      1.3,
      'x',
      'get: the gateway over @fastify/http-proxy with @fastify/rate-limit',
      over('get', FASTIFY),
    ),
    atLeast(0.85, 'x', 'get: the gateway over undici without a limiter', over('get', BARE)),
  ]

  function over(scenario: string, other: string): number {
    const perSecond = (contender: string) => figureOf(all, scenario, contender, 'perSecond')
    return perSecond(OURS) / perSecond(other)
  }
}
