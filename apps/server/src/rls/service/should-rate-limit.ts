import type { Decision, FullStore } from '@tidegate/core'
import { policyTerms, type RlsSettings } from '../config/rls-config.js'
import type { Domain } from '../limits/descriptor-node.js'
import type { LoadedLimits } from '../limits/load-limits.js'
import { matchRule } from '../limits/match.js'
import type { DescriptorRule } from '../limits/rule.js'
import { countHit, type Hit, type HitOutcome } from './count.js'
import { countAtomically } from './count-atomically.js'
import { countKey } from './count-key.js'
import { dynamicMetadata } from './dynamic-metadata.js'
import { hitsOf } from './hits.js'
import { responseHeaders } from './nearest-limit-headers.js'
import { createOverrides } from './override-rules.js'
import { RlsError } from './rls-error.js'
import { CODE, type DescriptorStatus, type RateLimitRequest, type RateLimitResponse } from './rls-messages.js'
import { type AllRuleStats, recordHits } from './rule-stats.js'

export interface RateLimitService {
  shouldRateLimit(request: RateLimitRequest): Promise<RateLimitResponse>
}

export interface RateLimitServiceOptions {
  readonly store: FullStore
  /** The active limits. */
  readonly limits: () => LoadedLimits
  readonly settings: RlsSettings
  readonly stats: AllRuleStats
  onUnknownDomain(domain: string): void
  /** A request was over its limit, and global shadow mode let it through. */
  onShadowed(): void
  onDegraded(mode: NonNullable<Decision['degraded']>): void
}

/** A descriptor with its rule and the name of its statistics. */
interface Applied {
  readonly hit: Hit | undefined
  readonly isUnlimited: boolean
  readonly metric: string
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

const MAX_DESCRIPTORS = 1000
const MAX_UINT32 = 4_294_967_295

/** Decides requests of Envoy's rate limit service, version 3. */
export function createRateLimitService(options: RateLimitServiceOptions): RateLimitService {
  const { store, limits, settings, stats, onUnknownDomain, onShadowed, onDegraded } = options
  const overrideRule = createOverrides(policyTerms(settings))

  function apply(request: RateLimitRequest, domain: Domain): Applied[] {
    const replaced = new Set<string>()
    const applied = request.descriptors.map((descriptor): Applied => {
      const { entries, limit: override } = descriptor
      const hits = hitsOf(request, descriptor)
      if (override) {
        const rule = overrideRule(override, domain.isAtomic)
        if (rule === undefined)
          throw new RlsError('invalid', `limit.unit must be 1 (SECOND) to 7 (WEEK), got ${override.unit}.`)
        // Without values, which come from clients: metrics are public.
        const metric = [request.domain, ...entries.map((entry) => entry.key)].join('.')
        const key = countKey(entries, request.domain)
        return { hit: { rule, key, hits }, isUnlimited: false, metric, metadata: undefined }
      }
      const match = matchRule(domain, request.domain, entries)
      if (match === undefined) return NO_RULE
      const { rule, keyEntries, metric, metadata } = match
      for (const name of rule.replaces) replaced.add(name)
      if (rule.isUnlimited) return { hit: undefined, isUnlimited: true, metric, metadata }
      return { hit: { rule, key: countKey(keyEntries), hits }, isUnlimited: false, metric, metadata }
    })
    if (replaced.size === 0) return applied
    return applied.map((one) => (replaced.has(one.hit?.rule.name || '') ? NO_RULE : one))
  }

  async function count(hits: readonly Hit[], isAtomic: boolean): Promise<readonly HitOutcome[]> {
    if (isAtomic) return countAtomically(store, hits)
    if (hits.length === 1) return [await countHit(store, hits[0]!)]
    return Promise.all(hits.map((hit) => countHit(store, hit)))
  }

  function record({ rule, hits }: Hit, metric: string, counted: HitOutcome): void {
    const { isOver, after, degraded } = counted
    if (degraded !== undefined) onDegraded(degraded)
    if (degraded === 'closed' && settings.onStoreFailure === 'error')
      throw new RlsError('unavailable', 'The store is unavailable.')
    if (hits <= 0) return
    const { limit, isShadow } = rule
    const { nearLimitRatio } = settings
    recordHits(stats.of(metric), { hits, limit, after, isOver, isShadow, nearLimitRatio })
  }

  return {
    async shouldRateLimit(request) {
      assertRequest(request)
      const domain = limits().domains.get(request.domain)
      if (domain === undefined) onUnknownDomain(request.domain)
      const applied = domain === undefined ? request.descriptors.map(() => NO_RULE) : apply(request, domain)
      const hits = applied.flatMap(({ hit }) => hit ?? [])
      const results = (await count(hits, domain?.isAtomic === true)).values()
      const counted = applied.map(({ hit }) => (hit === undefined ? undefined : results.next().value))
      for (const [i, { hit, metric }] of applied.entries())
        if (hit !== undefined) record(hit, metric, counted[i]!)

      const statuses = applied.map((one, i) => statusOf(one, counted[i]))
      const isOver = isOverLimit(applied, statuses, settings.quotaMode)
      if (isOver && settings.shadowMode) onShadowed()
      const response: RateLimitResponse = {
        overallCode: isOver && !settings.shadowMode ? CODE.overLimit : CODE.ok,
        statuses,
      }
      const { responseHeaders: names } = settings
      if (names !== undefined) {
        const isQuota = (i: number) => settings.quotaMode || applied[i]!.hit?.rule.isQuota === true
        response.responseHeadersToAdd = responseHeaders(names, statuses, isQuota)
      }
      if (settings.dynamicMetadata) {
        const passedMetadata = applied.flatMap(({ metadata, isUnlimited }, i) =>
          metadata !== undefined && !isUnlimited && statuses[i]!.code === CODE.ok ? [metadata] : [],
        )
        response.dynamicMetadata = dynamicMetadata(request, passedMetadata)
      }
      return response
    },
  }
}

const NO_RULE: Applied = { hit: undefined, isUnlimited: false, metric: '', metadata: undefined }

function assertRequest({ domain, descriptors }: RateLimitRequest): void {
  if (domain === '') throw new RlsError('invalid', 'domain must not be empty.')
  if (descriptors.length === 0) throw new RlsError('invalid', 'descriptors must not be empty.')
  if (descriptors.length > MAX_DESCRIPTORS) {
    const message = `descriptors must have at most ${MAX_DESCRIPTORS.toLocaleString('en')} entries, got ${descriptors.length}.`
    throw new RlsError('invalid', message)
  }
}

function statusOf({ hit, isUnlimited }: Applied, counted: HitOutcome | undefined): DescriptorStatus {
  if (hit === undefined || counted === undefined)
    return { code: CODE.ok, limitRemaining: isUnlimited ? MAX_UINT32 : 0 }
  const { rule } = hit
  const { isOver, remaining, resetSeconds } = counted
  return {
    code: isOver && !rule.isShadow ? CODE.overLimit : CODE.ok,
    currentLimit: limitOf(rule),
    limitRemaining: remaining,
    durationUntilReset: { seconds: resetSeconds },
  }
}

function limitOf({ limit, unit, name }: DescriptorRule) {
  return name === '' ? { requestsPerUnit: limit, unit } : { requestsPerUnit: limit, unit, name }
}

/** Over the limit if any rule is, or every rule in quota mode. */
function isOverLimit(
  applied: readonly Applied[],
  statuses: readonly DescriptorStatus[],
  isQuotaMode: boolean,
) {
  let quotas = 0
  let quotasOver = 0
  for (const [i, { hit, isUnlimited }] of applied.entries()) {
    if (isUnlimited) continue
    const isOver = statuses[i]!.code === CODE.overLimit
    if (isQuotaMode || hit?.rule.isQuota) {
      quotas++
      if (isOver) quotasOver++
    } else if (isOver) return true
  }
  return quotas > 0 && quotas === quotasOver
}
