import type { Decision, FullStore } from '@tidegate/core'
import { contains, type Proxies } from '@tidegate/http'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { exposeConnections } from '../metrics/connection-metrics.js'
import { policyTerms, type RlsConfig } from './config/rls-config.js'
import { formatFileErrors } from './format-file-errors.js'
import { createGrpcHealth } from './grpc/grpc-health.js'
import { startGrpcServer } from './grpc/grpc-server.js'
import { exposeStreams } from './grpc/stream-metrics.js'
import type { DescriptorNode } from './limits/descriptor-node.js'
import { readLimitFiles } from './limits/limit-files.js'
import { type FileErrors, type LimitFileText, type LoadedLimits, loadLimits } from './limits/load-limits.js'
import { watchLimitFiles } from './limits/watch-limit-files.js'
import { CODE, type RateLimitRequest, type RateLimitResponse } from './service/rls-messages.js'
import { createRlsCounters, exposeRls } from './service/rls-metrics.js'
import { createRuleStats } from './service/rule-stats.js'
import { createRateLimitService } from './service/should-rate-limit.js'

/** The running rate limit service for Envoy. */
export interface Rls {
  /** The address of the listener, such as `127.0.0.1:8081`. */
  readonly address: string
  shouldRateLimit(request: RateLimitRequest): Promise<RateLimitResponse>
  /** Reads the limit files again. */
  reload(): void
  status(): RlsStatus
  close(timeoutMs: number): Promise<void>
}

interface RlsStatus {
  readonly domains: number
  readonly rules: number
  /** Whether the files have errors, and the previous limits are active. */
  readonly isStale: boolean
  readonly isServing: boolean
}

export interface RlsOptions {
  readonly config: RlsConfig
  readonly store: FullStore
  /** Their connections are not limited per client. */
  readonly proxies: Proxies
  readonly registry: Registry
  readonly log: Logger
  /** The limits of the other workers, for a worker that starts while the files have errors. */
  readonly lastValid: readonly LimitFileText[] | undefined
  /** Called with valid texts at the start and after each change. */
  onValid(texts: readonly LimitFileText[]): void
  onDegraded(mode: NonNullable<Decision['degraded']>): void
}

const MAX_LOGGED_DOMAINS = 100

/** Starts the rate limit service. Rejects if the port is taken, or if the files have errors and `lastValid` is missing. */
export async function startRls(options: RlsOptions): Promise<Rls> {
  const { config, store, proxies, registry, log, lastValid, onValid, onDegraded } = options
  const { settings, files } = config
  const stats = createRuleStats()
  const counters = createRlsCounters()
  const health = createGrpcHealth()
  const unknownDomains = new Set<string>()
  const load = (texts: readonly LimitFileText[]) =>
    loadLimits(texts, { ...policyTerms(settings), mergeDomains: settings.mergeDomains })

  const first = readLimitFiles(files)
  let limits = firstLimits()
  use(limits)
  exposeRls(registry, stats, counters)

  function firstLimits(): LoadedLimits {
    const loaded = load(first)
    if ('limits' in loaded) {
      onValid(first)
      return loaded.limits
    }
    const previous = lastValid && load(lastValid)
    if (previous === undefined || 'errors' in previous) throw new Error(formatFileErrors(loaded.errors))
    reportErrors(loaded.errors)
    return previous.limits
  }

  function reportErrors(errors: readonly FileErrors[]): void {
    counters.isStale = true
    log.error(
      { errors: formatFileErrors(errors).split('\n') },
      'Rate limit service: limit files are invalid; the previous limits stay active',
    )
  }

  function use(next: LoadedLimits): void {
    limits = next
    stats.keep([...next.domains.values()].flatMap(rulePaths))
    unknownDomains.clear()
  }

  function onChange(texts: LimitFileText[]): void {
    const loaded = load(texts)
    const isValid = 'limits' in loaded
    counters.reloads[isValid ? 'ok' : 'failed']++
    if (!isValid) {
      reportErrors(loaded.errors)
      return
    }
    counters.isStale = false
    use(loaded.limits)
    onValid(texts)
    log.info({ domains: limits.domains.size, rules: limits.ruleCount }, 'Rate limit service: limits reloaded')
  }

  const service = createRateLimitService({
    store,
    limits: () => limits,
    settings,
    stats,
    onDegraded,
    onShadowed() {
      counters.shadowed++
    },
    onUnknownDomain(domain) {
      counters.unknownDomains++
      const shortDomain = domain.slice(0, 200)
      if (unknownDomains.has(shortDomain) || unknownDomains.size >= MAX_LOGGED_DOMAINS) return
      unknownDomains.add(shortDomain)
      log.warn({ domain: shortDomain }, 'Rate limit service: unknown domain; its requests are allowed')
    },
  })

  async function shouldRateLimit(request: RateLimitRequest): Promise<RateLimitResponse> {
    try {
      const response = await service.shouldRateLimit(request)
      counters.requests[response.overallCode === CODE.overLimit ? 'over_limit' : 'ok']++
      return response
    } catch (error) {
      counters.requests.error++
      throw error
    }
  }

  const server = await startGrpcServer({
    host: config.host,
    port: config.port,
    tls: config.tls,
    guard: {
      ...config.connections,
      listener: 'rls',
      log,
      ipv6Prefix: proxies.ipv6Prefix,
      isProxy: (address) => proxies.trusted.some((range) => contains(range, address)),
    },
    health,
    shouldRateLimit,
    onError: (error) => log.error({ err: error }, 'Rate limit service: request failed'),
  })
  exposeConnections(registry, 'rate_limiter_rls', server.connections)
  exposeStreams(registry, server.streams)
  const watch = watchLimitFiles(files, first, onChange)
  const address = `${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`
  log.info(
    { domains: limits.domains.size, rules: limits.ruleCount },
    `Rate limit service for Envoy listening on ${address}`,
  )
  return {
    address,
    shouldRateLimit,
    reload: watch.readNow,
    status: () => ({
      domains: limits.domains.size,
      rules: limits.ruleCount,
      isStale: counters.isStale,
      isServing: health.isServing(),
    }),
    async close(timeoutMs) {
      health.end()
      watch.close()
      await server.close(timeoutMs)
    },
  }
}

function rulePaths({ rule, children }: DescriptorNode): string[] {
  const own = rule === undefined || rule.isUnlimited ? [] : [rule.path]
  return [...own, ...[...children.values()].flatMap(rulePaths)]
}
