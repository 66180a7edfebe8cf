import { type FullStore, ManualClock, MemoryStore } from '@tidegate/core'
import type { RlsSettings } from '../../src/rls/config/rls-config.js'
import { loadLimits } from '../../src/rls/limits/load-limits.js'
import type { RateLimitRequest } from '../../src/rls/service/rls-messages.js'
import { createRuleStats } from '../../src/rls/service/rule-stats.js'
import { createRateLimitService } from '../../src/rls/service/should-rate-limit.js'

const SETTINGS: RlsSettings = {
  responseHeaders: undefined,
  dynamicMetadata: false,
  shadowMode: false,
  quotaMode: false,
  mergeDomains: false,
  nearLimitRatio: 0.8,
  onStoreFailure: 'error',
  instances: 1,
}

/** A request in short: descriptors as `user=bob path=/`, with hits of their own after a `:`. */
export function request(descriptors: readonly string[], hits = 0, domain = 'shop'): RateLimitRequest {
  return {
    domain,
    hitsAddend: hits,
    descriptors: descriptors.map((text) => {
      const [pairs = '', own] = text.split(':')
      return {
        entries: pairs.split(' ').map((pair) => {
          const [key = '', value = ''] = pair.split('=')
          return { key, value }
        }),
        ...(own === undefined ? {} : { hitsAddend: { value: Math.abs(Number(own)) } }),
        isNegativeHits: Number(own) < 0,
      }
    }),
  }
}

/** A rate limit service in memory, with a clock that stands at a whole year of 365 days. */
export function rlsService(descriptors: string, settings: Partial<RlsSettings> = {}, store?: FullStore) {
  const clock = new ManualClock(365 * 86_400 * 1000 * 50)
  const all = { ...SETTINGS, ...settings }
  const text = descriptors.includes('domain:') ? descriptors : `domain: shop\ndescriptors:\n${descriptors}`
  const onStoreFailure = all.onStoreFailure === 'error' ? 'closed' : all.onStoreFailure
  const terms = { onStoreFailure, instances: all.instances, mergeDomains: false } as const
  const loaded = loadLimits([{ file: 'limits.yaml', text }], terms)
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  const stats = createRuleStats()
  const unknown: string[] = []
  const counts = { shadowed: 0, degraded: [] as string[] }
  const service = createRateLimitService({
    store: store ?? new MemoryStore({ clock }),
    limits: () => loaded.limits,
    settings: all,
    stats,
    onUnknownDomain: (domain) => unknown.push(domain),
    onShadowed: () => counts.shadowed++,
    onDegraded: (mode) => counts.degraded.push(mode),
  })
  const send = (sent: RateLimitRequest) => service.shouldRateLimit(sent)
  /** `OK 4`, or for several descriptors `OVER_LIMIT: OK 4, OVER_LIMIT 0`. */
  const ask = async (descriptors: string | readonly string[], hits = 0) => {
    const { overallCode, statuses } = await send(request([descriptors].flat(), hits))
    const each = statuses.map(({ code, limitRemaining }) => `${nameOf(code)} ${limitRemaining}`).join(', ')
    return statuses.length === 1 && statuses[0]!.code === overallCode
      ? each
      : `${nameOf(overallCode)}: ${each}`
  }
  return { clock, send, ask, stats, unknown, counts }
}

function nameOf(code: number): string {
  return code === 2 ? 'OVER' : 'OK'
}
