import type { Registry } from 'prom-client'
import { expose } from '../../metrics/expose.js'
import type { AllRuleStats, RuleStats } from './rule-stats.js'

/** Counters of the rate limit service for Envoy. */
export interface RlsCounters {
  readonly requests: { ok: number; over_limit: number; error: number }
  readonly reloads: { ok: number; failed: number }
  unknownDomains: number
  shadowed: number
  /** Whether the last reload failed, and the previous limits are active. */
  isStale: boolean
}

export function createRlsCounters(): RlsCounters {
  return {
    requests: { ok: 0, over_limit: 0, error: 0 },
    reloads: { ok: 0, failed: 0 },
    unknownDomains: 0,
    shadowed: 0,
    isStale: false,
  }
}

const PER_RULE: readonly (readonly [string, keyof RuleStats, string])[] = [
  ['hits', 'hits', 'Hits of a rule.'],
  ['within_limit', 'withinLimit', 'Hits within the limit.'],
  ['near_limit', 'nearLimit', 'Hits within the limit, but near it.'],
  ['over_limit', 'overLimit', 'Hits over the limit.'],
  ['shadow_mode', 'shadowMode', 'Hits over the limit that shadow mode allowed.'],
]

export function exposeRls(registry: Registry, stats: AllRuleStats, counters: RlsCounters): void {
  for (const [name, field, help] of PER_RULE) {
    expose(registry, {
      name: `rate_limiter_rls_${name}_total`,
      help: `Rate limit service: ${help}`,
      type: 'counter',
      samples: () =>
        [...stats.all()].map(([rule, ruleStats]) => ({ labels: { rule }, value: ruleStats[field] })),
    })
  }
  const samplesBy = (label: string, counts: Readonly<Record<string, number>>) => () =>
    Object.entries(counts).map(([word, value]) => ({ labels: { [label]: word }, value }))
  expose(registry, {
    name: 'rate_limiter_rls_requests_total',
    help: 'Rate limit service: requests, by response code.',
    type: 'counter',
    samples: samplesBy('code', counters.requests),
  })
  expose(registry, {
    name: 'rate_limiter_rls_config_reloads_total',
    help: 'Rate limit service: reloads of the limits, by result.',
    type: 'counter',
    // Every process reads the same files.
    aggregator: 'max',
    samples: samplesBy('result', counters.reloads),
  })
  expose(registry, {
    name: 'rate_limiter_rls_config_stale',
    help: 'Rate limit service: 1 while the limit files have errors and the previous limits are active.',
    type: 'gauge',
    aggregator: 'max',
    samples: () => [{ labels: {}, value: counters.isStale ? 1 : 0 }],
  })
  expose(registry, {
    name: 'rate_limiter_rls_unknown_domain_total',
    help: 'Rate limit service: requests for an unknown domain, which are allowed.',
    type: 'counter',
    samples: () => [{ labels: {}, value: counters.unknownDomains }],
  })
  expose(registry, {
    name: 'rate_limiter_rls_global_shadow_mode_total',
    help: 'Rate limit service: requests over a limit that global shadow mode allowed.',
    type: 'counter',
    samples: () => [{ labels: {}, value: counters.shadowed }],
  })
}
