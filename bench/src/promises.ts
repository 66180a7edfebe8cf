import { EXACT_CONTENDERS } from './accuracy/accuracy-contenders.js'
import { ALGORITHMS } from './core/core-scenarios.js'
import { FASTIFY_PROXY, GATEWAY } from './gateway/gateway-scenarios.js'
import { LIBRARIES, PLAIN_EVALSHA, ALGORITHMS as REDIS_ALGORITHMS } from './redis/redis-contenders.js'
import type { FigureName } from './report/figures.js'
import type { BenchPromise, Round } from './report/promise.js'
import {
  REFERENCE_PROGRAM,
  ON_REDIS as RLS_ON_REDIS,
  REFERENCE as RLS_REFERENCE,
} from './rls/rls-scenarios.js'
import { ON_MEMORY, ON_REDIS } from './service/service-scenarios.js'

/** Reads one figure of a scenario from a round. */
type Reading = (round: Round, scenario: string) => number

const core = promisesOf('core')
const redis = promisesOf('redis')
const accuracy = promisesOf('accuracy')
const http = promisesOf('http')
const service = promisesOf('service')
const gateway = promisesOf('gateway')
const rls = promisesOf('rls')

/** The one table of promises. Each is about the median of three runs. */
export const PROMISES: readonly BenchPromise[] = [
  ...ALGORITHMS.flatMap((name) => [
    core.atLeast(1.8, 'x', '10k-awaited', `speed of ${name} over RateLimiterMemory`, speedOver(name)),
    core.atLeast(3, 'x', '10k-plain', `speed of ${name} over RateLimiterMemory`, speedOver(name)),
    core.atMost(1.5, 'x', '1m-plain', `cost of ${name} over a Map`, ratio(name, 'Map', 'bestNs')),
    core.atMost(4, 'ms', 'pauses', `longest check of ${name}, growth`, figure(name, 'growthMs')),
    core.atMost(4, 'ms', 'pauses', `longest check of ${name}, eviction`, figure(name, 'evictionMs')),
    core.atMost(80, 'bytes', 'memory-short', `one key of ${name}`, figure(name, 'bytesPerKey')),
  ]),
  core.atMost(
    2,
    'x',
    'leased',
    'cost of a leased check over a check in memory',
    ratio('leased fixed window', 'fixed window', 'bestNs'),
  ),
  core.atMost(80, 'bytes', 'memory-long', 'one key of token bucket', figure('token bucket', 'bytesPerKey')),
  ...['log-steady', 'log-denied'].map((scenario) =>
    core.atMost(
      3,
      'x',
      scenario,
      'cost at limit 100,000 over limit 100',
      ratio('limit 100,000', 'limit 100', 'bestNs'),
    ),
  ),

  ...REDIS_ALGORITHMS.flatMap((name) => [
    redis.atLeast(1.5, 'x', 'together', `throughput of ${name} over the faster library`, toBaseline(name)),
    redis.atMost(
      0.45,
      'x',
      'together',
      `client CPU of ${name} over rate-limiter-flexible`,
      ratio(name, 'rate-limiter-flexible', 'cpuUs'),
    ),
    redis.atMost(
      1.1,
      'x',
      'together',
      `server time per check of ${name} over plain EVALSHA`,
      ratio(name, PLAIN_EVALSHA, 'serverUs'),
    ),
    redis.atMost(1.25, 'x', 'alone', `p50 of ${name} over plain EVALSHA`, figure(name, 'p50ToBaseline')),
    redis.atLeast(1.5, 'x', 'cluster', `throughput of ${name} over the faster library`, toBaseline(name)),
    redis.atMost(0.5, 'x', 'cluster', `client CPU of ${name} over the faster library`, cpuOverFaster(name)),
  ]),
  redis.atLeast(
    10,
    'x',
    'flood',
    'denials per second over the faster library',
    overLibraries('token bucket'),
  ),
  redis.atMost(
    1,
    'calls',
    'flood',
    'script calls per key and second',
    figure('token bucket', 'callsPerKeyAndSecond'),
  ),
  redis.atLeast(
    20,
    'x',
    'hot-key',
    'leased checks per second over checks without a lease',
    ratio('leased fixed window', 'fixed window', 'perSecond'),
  ),
  redis.atMost(
    0.05,
    'calls',
    'hot-key',
    'store calls per leased check',
    figure('leased fixed window', 'callsPerCheck'),
  ),
  ...['steady', 'denied'].map((mode) =>
    redis.atMost(
      3,
      'x',
      'log',
      `server time at limit 100,000 over limit 100, ${mode}`,
      ratio(`limit 100,000, ${mode}`, `limit 100, ${mode}`, 'serverUs'),
    ),
  ),
  redis.atMost(
    5,
    'x',
    'log',
    'server time of a cost of 1,000 over a cost of 1',
    ratio('limit 100,000, a cost of 1,000', 'limit 100,000, steady', 'serverUs'),
  ),
  redis.atMost(
    1,
    'calls',
    'log',
    'commands that write a cost of 1,000',
    figure('limit 100,000, a cost of 1,000', 'pushes'),
  ),
  ...['99,999 expire at once', 'all expire at once'].map((units) =>
    redis.atMost(
      1,
      'ms',
      'log',
      `longest script call, limit 100,000, ${units}`,
      figure(`limit 100,000, ${units}`, 'longestMs'),
    ),
  ),
  redis.atMost(16, 'bytes', 'memory-log', 'one logged unit', figure('sliding log', 'bytesPerUnit')),
  redis.atMost(176, 'bytes', 'memory-key', 'one bucket', figure('token bucket', 'bytesPerKey')),

  ...EXACT_CONTENDERS.map((name) =>
    accuracy.atMost(0.5, '%', 'saturated', `difference of ${name}`, (round, scenario) =>
      Math.abs(read(round, scenario, name, 'differencePercent')),
    ),
  ),

  ...[
    ['express', 'Express + Tidegate, legacy headers', 'Express + express-rate-limit'] as const,
    ['fastify', 'Fastify + Tidegate, legacy headers', 'Fastify + @fastify/rate-limit'] as const,
    ['redis', 'Express + Tidegate on Redis, legacy headers', 'Express + rate-limit-redis'] as const,
  ].map(([scenario, tidegate, other]) =>
    http.atMost(
      1,
      'x',
      scenario,
      `time added by ${tidegate} over ${other}`,
      ratio(tidegate, other, 'addedUs'),
    ),
  ),

  service.atLeast(0.8, 'x', 'throughput', 'checks in memory over a bare route', toBaseline(ON_MEMORY)),
  service.atLeast(0.5, 'x', 'throughput', 'checks on Redis over a bare route', toBaseline(ON_REDIS)),
  service.atMost(
    10,
    'ms',
    'steady',
    'p99 of checks on Redis',
    (round, scenario) => read(round, scenario, ON_REDIS, 'p99Us') / 1000,
  ),
  service.atMost(0, 'calls', 'steady', 'failures on Redis', figure(ON_REDIS, 'failures')),

  gateway.atLeast(
    1.3,
    'x',
    'get',
    'throughput over @fastify/http-proxy with @fastify/rate-limit',
    ratio(GATEWAY, FASTIFY_PROXY, 'perSecondToBaseline'),
  ),
  gateway.atLeast(0.85, 'x', 'get', 'throughput over undici without a limiter', toBaseline(GATEWAY)),

  rls.atMost(
    0,
    'calls',
    'throughput',
    'failures of Envoy’s requests on Redis',
    figure(RLS_ON_REDIS, 'failures'),
  ),
  // Without its program there is nothing to compare with.
  ...(REFERENCE_PROGRAM === undefined
    ? []
    : [
        rls.atLeast(
          1,
          'x',
          'throughput',
          'checks per second and core on Redis over envoyproxy/ratelimit',
          ratio(RLS_REFERENCE, RLS_ON_REDIS, 'cpuUs'),
        ),
      ]),
]

function promisesOf(benchmark: string) {
  const bounded =
    (bound: BenchPromise['bound']) =>
    (
      target: number,
      unit: BenchPromise['unit'],
      scenario: string,
      claim: string,
      reading: Reading,
    ): BenchPromise => ({
      benchmark,
      scenario,
      claim,
      bound,
      target,
      unit,
      figure: (round) => reading(round, scenario),
    })
  return { atLeast: bounded('at least'), atMost: bounded('at most') }
}

function figure(contender: string, name: FigureName): Reading {
  return (round, scenario) => read(round, scenario, contender, name)
}

function ratio(numerator: string, denominator: string, name: FigureName): Reading {
  return (round, scenario) =>
    read(round, scenario, numerator, name) / read(round, scenario, denominator, name)
}

function toBaseline(contender: string): Reading {
  return figure(contender, 'perSecondToBaseline')
}

/** RateLimiterMemory only returns promises, so it is awaited even where Tidegate is not. */
function speedOver(name: string): Reading {
  return (round, scenario) =>
    read(round, '10k-awaited', 'RateLimiterMemory', 'bestNs') / read(round, scenario, name, 'bestNs')
}

function overLibraries(name: string): Reading {
  return (round, scenario) =>
    Math.min(...LIBRARIES.map((library) => ratio(name, library, 'perSecond')(round, scenario)))
}

/** Client CPU over that of the library with the higher throughput. */
function cpuOverFaster(name: string): Reading {
  return (round, scenario) => {
    const [one, other] = LIBRARIES
    const isFirst = ratio(one, other, 'perSecond')(round, scenario) >= 1
    return ratio(name, isFirst ? one : other, 'cpuUs')(round, scenario)
  }
}

/** NaN if the figure is missing, so that the promise counts as missed. */
function read(round: Round, scenario: string, contender: string, name: FigureName): number {
  return round(scenario, contender)[name] ?? Number.NaN
}
