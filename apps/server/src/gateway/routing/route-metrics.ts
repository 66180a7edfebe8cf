import type { Registry } from 'prom-client'
import { expose } from '../../metrics/expose.js'
import { type Histogram, histogram, observe, samplesOf } from '../../metrics/histogram.js'
import { FAILURE_KINDS, type FailureKind } from '../upstreams/upstream-failure.js'
import type { Upstream } from '../upstreams/upstreams.js'

/*
 * Metrics of the gateway. Labels are route ids, status classes and failure kinds, so the number of series is bounded.
 */

/** The metrics of one route. */
export interface RouteMeter {
  readonly seconds: Histogram
  /** Responses by the first digit of the status; index 0: the client disconnected first. */
  readonly responses: number[]
  readonly failures: Record<FailureKind, number>
}

export interface GatewayMeters {
  /** Returns the meters of the active routes. The meter of a route that was active before is kept. */
  metersFor(ids: Iterable<string>): (id: string) => RouteMeter
}

/** The label of requests without a route; ids of routes are never empty. */
export const NO_ROUTE = ''

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

export function createGatewayMeters(registry: Registry, upstreams: () => Iterable<Upstream>): GatewayMeters {
  let meters = new Map<string, RouteMeter>()
  const each = <T>(make: (route: string, meter: RouteMeter) => T[]) =>
    [...meters].flatMap(([route, meter]) => make(route, meter))

  expose(registry, {
    name: 'gateway_requests_total',
    help: 'Requests at the gateway, by route and status class; none: the client disconnected before the response.',
    type: 'counter',
    samples: () =>
      each((route, { responses }) =>
        CLASSES.map((status, i) => ({ labels: { route, status }, value: responses[i]! })),
      ),
  })
  expose(registry, {
    name: 'gateway_request_seconds',
    help: 'Duration of requests at the gateway, from their headers to the end of the response, in seconds.',
    type: 'histogram',
    samples: () => each((route, { seconds }) => samplesOf('gateway_request_seconds', { route }, seconds)),
  })
  expose(registry, {
    name: 'gateway_upstream_errors_total',
    help: 'Failures of upstreams, by route and kind.',
    type: 'counter',
    samples: () =>
      each((route, { failures }) =>
        FAILURE_KINDS.map((kind) => ({ labels: { route, kind }, value: failures[kind] })),
      ),
  })

  expose(registry, {
    name: 'gateway_upstream_up',
    help: '1 if the last connection to the upstream succeeded, 0 if not.',
    type: 'gauge',
    aggregator: 'min',
    samples() {
      const byOrigin = new Map<string, number>()
      for (const { origin, state } of upstreams()) {
        byOrigin.set(origin, Math.min(byOrigin.get(origin) ?? 1, state.isReachable ? 1 : 0))
      }
      return [...byOrigin].map(([upstream, value]) => ({ labels: { upstream }, value }))
    },
  })

  return {
    metersFor(ids) {
      const next = new Map<string, RouteMeter>()
      for (const id of [NO_ROUTE, ...ids]) next.set(id, meters.get(id) ?? createMeter())
      meters = next
      return (id) => next.get(id)!
    },
  }
}

function createMeter(): RouteMeter {
  return {
    seconds: histogram(SECONDS),
    responses: CLASSES.map(() => 0),
    failures: { connect: 0, timeout: 0, lost: 0, garbage: 0, overload: 0 },
  }
}

/** `status` is 0 if the client disconnected before the response. */
export function recordRequest(meter: RouteMeter, status: number, seconds: number): void {
  meter.responses[Math.min(5, Math.floor(status / 100))]!++
  observe(meter.seconds, seconds)
}
