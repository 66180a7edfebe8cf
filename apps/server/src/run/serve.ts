import type { AddressInfo } from 'node:net'
import type { FailureEvent } from '@tidegate/core'
import type { Logger } from 'pino'
import { createApp } from '../api/app.js'
import { composeStore } from '../compose.js'
import type { Config } from '../config/config.js'
import type { StoreConfig } from '../config/store.js'
import { watchHealth } from '../health.js'
import { urlOf } from '../http/url.js'
import { inForceOf } from '../in-force.js'
import { createMetrics, type Metrics } from '../metrics/metrics.js'
import type { Service } from '../service.js'
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
  /** What `/metrics` answers, from what this process alone would. Default: just that. */
  readonly exposition?: (metrics: Metrics) => () => Promise<string>
}

/** Serves in this process. */
export async function serve({ config, log, exposition }: ServeOptions): Promise<Serving> {
  const store = composeStore(config.store, (event) => note(event, metrics, log))
  const health = watchHealth(store, kindOf(config.store))
  const metrics = createMetrics(async () => (await health.look()).isUp)
  const service: Service = {
    inForce: inForceOf(config, metrics, store),
    store,
    health,
    metrics,
    exposition: exposition?.(metrics) ?? (() => metrics.registry.metrics()),
    log,
    version: version(),
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
    await store.close()
    throw error
  }
  app.server.on('error', (error) => log.error({ err: error }, 'A connection could not be accepted'))
  return { url: urlOf(app.server.address() as AddressInfo), service, close }
}

export function kindOf(store: StoreConfig): string {
  return store.kind === 'memory' ? 'memory' : store.scheme
}

/** What happens to the store is logged when it changes, and counted whenever it happens. */
function note(event: FailureEvent, metrics: Metrics, log: Logger): void {
  switch (event.type) {
    case 'store':
      if (event.isUp) log.info('The store answers again')
      else
        log.error(
          { err: event.error },
          'The store does not answer; policies answer as their onStoreFailure says',
        )
      break
    case 'breaker':
      metrics.setBreaker(event.state === 'half-open' ? 'half_open' : event.state)
      break
    case 'call-failed':
      metrics.countStoreError()
      break
  }
}
