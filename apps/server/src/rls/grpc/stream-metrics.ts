import type { Registry } from 'prom-client'
import { expose } from '../../metrics/expose.js'
import type { StreamCounts } from './stream-guard.js'

export function exposeStreams(registry: Registry, { aborted }: StreamCounts): void {
  expose(registry, {
    name: 'rate_limiter_rls_calls_aborted_total',
    help: 'Rate limit service: calls aborted because of a slow client or too much memory, by reason.',
    type: 'counter',
    samples: () => Object.entries(aborted).map(([reason, value]) => ({ labels: { reason }, value })),
  })
}
