import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { FailureEvent } from '@tidegate/core'
import type { Logger } from 'pino'
import { createApp } from '../api/app.js'
import { createBodyBudget } from '../api/body-budget.js'
import { createInFlightShares } from '../api/in-flight-shares.js'
import { createTokenGuesses } from '../api/token-guesses.js'
import { composeStore } from '../compose.js'
import type { Config } from '../config/config.js'
import type { StoreConfig } from '../config/store.js'
import { watchHealth } from '../health.js'
import { urlOf } from '../http/url.js'
import { inForceOf } from '../in-force.js'
import type { Figures } from '../live/figures.js'
import { createLive } from '../live/live.js'
import { createNotedKeys } from '../live/noted-keys.js'
import { createApiMetrics } from '../metrics/api-metrics.js'
import { createMetrics, type Metrics } from '../metrics/metrics.js'
import type { Service } from '../service.js'
import { generateToken } from '../tokens.js'
import { version } from '../version.js'
import { startGatewayOf } from './gateway.js'
import { stopServing } from './stop.js'

/** A service that listens. */
export interface Serving {
  readonly url: string
  readonly service: Service
  close(): Promise<void>
}

export interface ServeOptions {
  readonly config: Config
  readonly log: Logger
  /** The admin token while the configuration has none. Default: a new one. */
  readonly generatedAdminToken?: string
  /** What `/metrics` answers. Default: what this process alone measures. */
  readonly exposition?: () => Promise<string>
  /** What all processes that serve together have counted. Default: only this one serves. */
  readonly collect?: (own: () => Figures) => Promise<readonly Figures[]>
}

/** Serves in this process. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { config, log, exposition, collect, generatedAdminToken = generateToken() } = options
  const self = {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    version: version(),
    startedMs: Date.now(),
  }
  const { store, instances, counter, breakerState } = composeStore(config.store, self, (event) => {
    note(event, metrics, log)
    if (event.type !== 'breaker') return
    // Of a store in parts it is the worst, and not that of the part that has just changed.
    const state = breakerState()
    metrics.setBreaker(state === 'half-open' ? 'half_open' : state)
  })
  const health = watchHealth(store, kindOf(config.store))
  const metrics = createMetrics(async () => (await health.look()).isUp)
  const keys = createNotedKeys()
  const service: Service = {
    inForce: inForceOf(config, { store, metrics, keys, generatedAdminToken }),
    startedWith: config,
    store,
    health,
    metrics,
    keys,
    live: createLive(() => service, collect),
    instances,
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
    isStopping: false,
  }
  const app = await createApp(service)
  const close = () => stopServing(app, service)
  try {
    await app.listen({ host: config.host, port: config.port })
    service.gateway = await startGatewayOf(service)
  } catch (error) {
    await app.close()
    await instances.close()
    await store.close()
    throw error
  }
  app.server.on('error', (error) => log.error({ err: error }, 'A connection could not be accepted'))
  // One probe at the start: a wrong address or password is logged before the first request.
  void health.look()
  return { url: urlOf(app.server.address() as AddressInfo), service, close }
}

export function kindOf(store: StoreConfig): string {
  return store.kind === 'memory' ? 'memory' : store.scheme
}

/** Logs changes, and counts every event. */
function note(event: FailureEvent, metrics: Metrics, log: Logger): void {
  switch (event.type) {
    case 'store':
      if (event.isUp) log.info('Store available again')
      else log.error({ err: event.error }, 'Store unavailable; each policy answers by its onStoreFailure')
      break
    case 'call-failed':
      metrics.countStoreError()
      break
    case 'degraded':
      if (event.reason === 'overload') metrics.countOverload()
      break
    case 'overload':
      if (event.isOverloaded)
        log.warn('Overloaded: too many checks wait for the store; the excess is counted in this process')
      else log.info('No longer overloaded')
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
