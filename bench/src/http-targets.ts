import { type Measurement, ratioOf } from './figures.js'
import { atMost, type Result } from './targets.js'

/** What the middleware promises: to add less to a request than what it is compared with, for the same headers. */
export function judge(all: readonly Measurement[]): Result[] {
  return [
    added('express', 'Express + ours, legacy headers', 'Express + express-rate-limit'),
    added('fastify', 'Fastify + ours, legacy headers', 'Fastify + @fastify/rate-limit'),
    added('redis', 'Express + ours on Redis, legacy headers', 'Express + rate-limit-redis'),
  ]

  function added(scenario: string, ours: string, theirs: string): Result {
    const ratio = ratioOf(all, { scenario, contender: ours }, { scenario, contender: theirs }, 'addedUs')
    return atMost(1, 'x', `${scenario}: time added by ${ours} over ${theirs}`, ratio)
  }
}
