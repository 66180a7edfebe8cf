import type { LeaseCounts } from '@tidegate/core'
import type { Registry } from 'prom-client'
import { expose } from './expose.js'

/** Exposes the use of leases. Store calls per check are the quotient of two of these counters. */
export function exposeLeases(registry: Registry, countsNow: () => LeaseCounts | undefined): void {
  const samples = (field: keyof LeaseCounts) => () => [{ labels: {}, value: countsNow()?.[field] ?? 0 }]
  expose(registry, {
    name: 'rate_limiter_lease_checks_total',
    help: 'Checks of policies with a lease.',
    type: 'counter',
    samples: samples('checks'),
  })
  expose(registry, {
    name: 'rate_limiter_leased_checks_total',
    help: 'Checks decided from units that this process had leased.',
    type: 'counter',
    samples: samples('leasedChecks'),
  })
  expose(registry, {
    name: 'rate_limiter_lease_store_calls_total',
    help: 'Calls to the store for policies with a lease: checks, leases and give-backs.',
    type: 'counter',
    samples: samples('storeCalls'),
  })
  expose(registry, {
    name: 'rate_limiter_lease_units_in_hand',
    help: 'Leased units that are not spent.',
    type: 'gauge',
    samples: samples('unitsInHand'),
  })
  expose(registry, {
    name: 'rate_limiter_lease_units_lapsed_total',
    help: 'Leased units that were not spent before their lease ended.',
    type: 'counter',
    samples: samples('unitsLapsed'),
  })
}
