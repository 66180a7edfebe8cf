import type { Registry } from 'prom-client'
import type { ConnectionCounts } from '../http/connection-guard.js'
import { expose } from './expose.js'

/** Registers `<prefix>_connections`, `<prefix>_connections_max` and `<prefix>_connections_refused_total`. */
export function exposeConnections(registry: Registry, prefix: string, counts: ConnectionCounts): void {
  expose(registry, {
    name: `${prefix}_connections`,
    help: 'Open client connections.',
    type: 'gauge',
    samples: () => [{ labels: {}, value: counts.open }],
  })
  expose(registry, {
    name: `${prefix}_connections_max`,
    help: 'Maximum number of open client connections.',
    type: 'gauge',
    samples: () => [{ labels: {}, value: counts.max }],
  })
  expose(registry, {
    name: `${prefix}_connections_refused_total`,
    help: 'Client connections closed on arrival, by the limit that was reached.',
    type: 'counter',
    samples: () =>
      Object.entries(counts.refusedByReason).map(([reason, value]) => ({ labels: { reason }, value })),
  })
}
