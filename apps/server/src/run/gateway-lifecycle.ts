import { readFileSync } from 'node:fs'
import type { ActiveConfig } from '../active-config.js'
import type { GatewayConfig } from '../gateway/config/gateway-config.js'
import { type Gateway, startGateway } from '../gateway/index.js'
import type { Routing } from '../gateway/routing/active-routes.js'
import type { Service } from '../service.js'

/** Starts the gateway of the active configuration, if it has one. */
export async function startGatewayOf({ activeConfig, metrics, log }: Service): Promise<Gateway | undefined> {
  const { config } = activeConfig
  const routing = routingOf(activeConfig)
  if (config.gateway === undefined || routing === undefined) return undefined
  const { listen, connections, maxConnections, minBodyRate, accessLog } = config.gateway
  const { host, port, tls, http2 } = listen
  const gateway = await startGateway({
    host,
    port,
    tls: tls && { key: readFileSync(tls.keyFile, 'utf8'), cert: readFileSync(tls.certFile, 'utf8'), http2 },
    limits: config.limits,
    connections,
    maxConnections,
    minBodyRate,
    accessLog:
      accessLog === 'off' ? undefined : { form: accessLog, write: (line) => void process.stdout.write(line) },
    routing,
    log,
    registry: metrics.registry,
  }).catch((error) => {
    throw Object.assign(error, { isOfGateway: true })
  })
  log.info({ routes: routing.routes.length }, `Gateway listening on ${gateway.url}`)
  return gateway
}

/** Activates the routes of the configuration. Returns false if a changed option needs a restart. */
export function reloadGateway({ activeConfig, startConfig, gateway }: Service): boolean {
  const routing = routingOf(activeConfig)
  if (gateway !== undefined && routing !== undefined) gateway.use(routing)
  return atStart(activeConfig.config.gateway) === atStart(startConfig.gateway)
}

function routingOf({ router, config }: ActiveConfig): Routing | undefined {
  return router && { ...router, proxies: config.proxies, cors: config.gateway?.cors ?? [] }
}

/** The options that are read only at startup. */
function atStart(gateway: GatewayConfig | undefined): string | undefined {
  if (gateway === undefined) return undefined
  const { listen, connections, maxConnections, minBodyRate, accessLog } = gateway
  return JSON.stringify([listen, connections, maxConnections, minBodyRate, accessLog])
}
