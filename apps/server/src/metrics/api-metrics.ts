import type { Registry } from 'prom-client'
import type { ConnectionCounts } from '../http/connection-guard.js'
import { exposeConnections } from './connection-metrics.js'
import { expose } from './expose.js'

/** Metrics of the API as an HTTP server. Routes and statuses are classes, so the number of series is fixed. */
export interface ApiMetrics {
  recordResponse(url: string, status: number): void
  /** Counts checks that were denied because their client had too many waiting for the store. */
  recordOverload(checks: number): void
  recordSettlement(result: SettlementResult): void
  recordSlots(event: SlotEvent, slots: number): void
  recordDrop(reason: DropReason): void
  setConnections(counts: ConnectionCounts): void
}

/** `settled`, or why a settlement had no effect. */
type SettlementResult = 'settled' | 'ended' | 'unknown'

/** `gone`: a slot to release or to renew was no longer held. */
type SlotEvent = 'released' | 'renewed' | 'gone'

export type DropReason = 'pipelining' | 'stalled'

const STATUSES = ['2xx', '3xx', '401', '403', '429', '4xx', '5xx'] as const
type Status = (typeof STATUSES)[number]

/** Prefixes of paths. The first match is used. */
const ROUTES = [
  ['/api/v1/rate-limit/check/batch', 'batch'],
  ['/api/v1/rate-limit/check', 'check'],
  ['/api/v1/rate-limit/remaining', 'remaining'],
  ['/api/v1/rate-limit/reset', 'reset'],
  ['/api/v1/rate-limit/reserve', 'reservation'],
  ['/api/v1/rate-limit/settle', 'reservation'],
  ['/api/v1/rate-limit/cancel', 'reservation'],
  ['/api/v1/rate-limit/acquire', 'slot'],
  ['/api/v1/rate-limit/release', 'slot'],
  ['/api/v1/rate-limit/renew', 'slot'],
  ['/api/v1/rate-limit/refund', 'refund'],
  ['/api/v1/forward-auth', 'forward-auth'],
  ['/api/v1/admin/', 'admin'],
  ['/healthz', 'health'],
  ['/readyz', 'health'],
  ['/actuator/health', 'health'],
  ['/metrics', 'metrics'],
  ['/actuator/prometheus', 'metrics'],
  ['', 'other'],
] as const

export function createApiMetrics(registry: Registry): ApiMetrics {
  const responses = new Map(
    [...new Set(ROUTES.map(([, route]) => route))].map((route) => [
      route,
      Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>,
    ]),
  )
  const dropped: Record<DropReason, number> = { pipelining: 0, stalled: 0 }
  const settlements: Record<SettlementResult, number> = { settled: 0, ended: 0, unknown: 0 }
  const slotEvents: Record<SlotEvent, number> = { released: 0, renewed: 0, gone: 0 }
  let overload = 0

  expose(registry, {
    name: 'api_responses_total',
    help: 'API responses, by group of routes and by status.',
    type: 'counter',
    samples: () =>
      [...responses].flatMap(([route, counts]) =>
        STATUSES.map((status) => ({ labels: { route, status }, value: counts[status] })),
      ),
  })
  expose(registry, {
    name: 'api_overload_total',
    help: 'Checks denied because their client had too many waiting for the store.',
    type: 'counter',
    samples: () => [{ labels: {}, value: overload }],
  })
  expose(registry, {
    name: 'api_settlements_total',
    help: 'Settled or cancelled reservations, and settlements without effect because the id had ended or was unknown.',
    type: 'counter',
    samples: () => Object.entries(settlements).map(([result, value]) => ({ labels: { result }, value })),
  })
  expose(registry, {
    name: 'api_slots_total',
    help: 'Slots that were released, renewed or no longer held.',
    type: 'counter',
    samples: () => Object.entries(slotEvents).map(([event, value]) => ({ labels: { event }, value })),
  })
  expose(registry, {
    name: 'api_connections_dropped_total',
    help: 'Connections closed because the client pipelined too many requests or did not read its responses.',
    type: 'counter',
    samples: () => Object.entries(dropped).map(([reason, value]) => ({ labels: { reason }, value })),
  })

  return {
    recordResponse(url, status) {
      const [, route] = ROUTES.find(([prefix]) => url.startsWith(prefix))!
      responses.get(route)![statusOf(status)]++
    },
    recordOverload(checks) {
      overload += checks
    },
    recordSettlement(result) {
      settlements[result]++
    },
    recordSlots(event, slots) {
      slotEvents[event] += slots
    },
    recordDrop(reason) {
      dropped[reason]++
    },
    setConnections(counts) {
      // Only the first server of a service is counted; tests create several.
      if (registry.getSingleMetric('api_connections') === undefined)
        exposeConnections(registry, 'api', counts)
    },
  }
}

function statusOf(status: number): Status {
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  if (status === 401 || status === 403 || status === 429) return `${status}`
  return status < 500 ? '4xx' : '5xx'
}
