import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { FailureEvent } from '@tidegate/core'
import type { Logger } from 'pino'
import { activateConfig } from '../active-config.js'
import { createApp } from '../api/app.js'
import { createBodyBudget } from '../api/request/body-budget.js'
import { createInFlightShares } from '../api/request/in-flight-shares.js'
import { composeStore } from '../compose.js'
import type { Config } from '../config/config.js'
import type { StoreConfig } from '../config/sections/store.js'
import { watchHealth } from '../health.js'
import { createTokenGuesses } from '../http/token-guesses.js'
import { urlOf } from '../http/url.js'
import type { Counters } from '../live/counters.js'
import { createLive } from '../live/live.js'
import { createApiMetrics } from '../metrics/api-metrics.js'
import { exposeLeases } from '../metrics/lease-metrics.js'
import { createMetrics, type Metrics } from '../metrics/metrics.js'
import type { Rls } from '../rls/index.js'
import type { LimitFileText } from '../rls/limits/load-limits.js'
import type { Service } from '../service.js'
import { generateToken } from '../tokens.js'
import { createKeyTracker } from '../top-keys/key-tracker.js'
import { version } from '../version.js'
import { startGatewayOf } from './gateway-lifecycle.js'
import { stopServing } from './stop.js'

/** A service that listens. */
export interface RunningService {
  readonly url: string
  readonly service: Service
  close(): Promise<void>
}

export interface ServeOptions {
  readonly config: Config
  readonly log: Logger
  /** The admin token while the configuration has none. Default: a new one. */
  readonly generatedAdminToken?: string
  /** The text of `/metrics`. Default: the metrics of this process. */
  readonly exposition?: () => Promise<string>
  /** Collects the counters of all processes of this instance. Default: only this process. */
  readonly collect?: (own: () => Counters) => Promise<readonly Counters[]>
  /** Keeps the last valid limits of the rate limit service for Envoy beyond this process. Default: not kept. */
  readonly lastValidLimits?: LastValidLimits
}

interface LastValidLimits {
  readonly texts: readonly LimitFileText[] | undefined
  keep(texts: readonly LimitFileText[]): void
}

/** Serves in this process. */
export async function serve(options: ServeOptions): Promise<RunningService> {
  const { config, log, exposition, collect, generatedAdminToken = generateToken() } = options
  const self = {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    version: version(),
    startedMs: Date.now(),
  }
  const storeParts = composeStore(config.store, self, (event) => {
    recordFailure(event, metrics, log)
    if (event.type !== 'breaker') return
    // The worst state of all parts of the store, and not that of the part that has changed.
    const state = storeParts.breakerState()
    metrics.setBreaker(state === 'half-open' ? 'half_open' : state)
  })
  const { store, instanceRegistry, counter } = storeParts
  const health = watchHealth(store, kindOf(config.store))
  const metrics = createMetrics(async () => (await health.probe()).isUp)
  exposeLeases(metrics.registry, storeParts.leaseCounts)
  const keys = createKeyTracker()
  const service: Service = {
    activeConfig: activateConfig(config, { store, metrics, keys, generatedAdminToken }),
    startConfig: config,
    store,
    health,
    metrics,
    keys,
    live: createLive(() => service, collect),
    instanceRegistry,
    counter,
    exposition: exposition ?? (() => metrics.registry.metrics()),
    generatedAdminToken,
    guesses: createTokenGuesses(),
    apiMetrics: createApiMetrics(metrics.registry),
    inFlight: config.store.kind === 'memory' ? undefined : createInFlightShares(),
    bodies: createBodyBudget(),
    log,
    version: self.version,
    lastReload: undefined,
    gateway: undefined,
    rls: undefined,
    isStopping: false,
  }
  const app = await createApp(service)
  const close = () => stopServing(app, service)
  try {
    await app.listen({ host: config.host, port: config.port })
    service.gateway = await startGatewayOf(service)
    service.rls = await startRlsOf(service, options.lastValidLimits)
  } catch (error) {
    await app.close()
    await service.gateway?.close()
    await instanceRegistry.close()
    await store.close()
    throw error
  }
  app.server.on('error', (error) => log.error({ err: error }, 'API connection could not be accepted'))
  // Probe the store now, to log a wrong address or password before the first request.
  void health.probe()
  return { url: urlOf(app.server.address() as AddressInfo), service, close }
}

/** Starts the rate limit service for Envoy, if the configuration has one. */
async function startRlsOf(
  { startConfig, store, metrics, log }: Service,
  lastValidLimits: LastValidLimits | undefined,
): Promise<Rls | undefined> {
  const { rls: config, proxies } = startConfig
  if (config === undefined) return undefined
  // Imported on demand, because gRPC takes a tenth of a second to load.
  const { startRls } = await import('../rls/index.js')
  return startRls({
    config,
    store,
    proxies,
    registry: metrics.registry,
    log,
    lastValid: lastValidLimits?.texts,
    onValid: (texts) => lastValidLimits?.keep(texts),
    onDegraded: metrics.recordDegraded,
  }).catch((error) => {
    throw Object.assign(error, { isOfRls: true })
  })
}

export function kindOf(store: StoreConfig): string {
  return store.kind === 'memory' ? 'memory' : store.scheme
}

/** Counts every event, and logs changes. */
function recordFailure(event: FailureEvent, metrics: Metrics, log: Logger): void {
  switch (event.type) {
    case 'store':
      if (event.isUp) log.info('Store available again')
      else log.error({ err: event.error }, 'Store unavailable; each policy uses its onStoreFailure')
      break
    case 'call-failed':
      metrics.recordStoreError()
      break
    case 'degraded':
      if (event.reason === 'overload') metrics.recordOverload()
      break
    case 'overload':
      if (event.isOverloaded)
        log.warn(
          'Overloaded: too many checks are waiting for the store; further checks are counted in this process',
        )
      else log.info('No longer overloaded')
      break
    case 'unstable':
      if (event.isUnstable)
        log.warn(
          { err: event.error },
          'Store unstable: some calls fail, and each of their policies uses its onStoreFailure',
        )
      else log.info('Store stable again')
      break
    case 'starved':
      metrics.setStarved(event.isStarved)
      if (event.isStarved)
        log.warn(
          { lateMs: Math.round(event.lateMs) },
          'Process starved: the event loop is blocked or the CPU quota is used up; checks take longer',
        )
      else log.info('Process no longer starved')
      break
  }
}
