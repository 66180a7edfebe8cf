import { readFileSync } from 'node:fs'
import type { GatewayConfig } from '../config/gateway.js'
import { type Gateway, startGateway } from '../gateway/gateway.js'
import type { Routing } from '../gateway/in-force.js'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'

/** Starts the gateway of the configuration in force, if it has one. */
export async function startGatewayOf({ inForce, metrics, log }: Service): Promise<Gateway | undefined> {
  const { config } = inForce
  const routing = routingOf(inForce)
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
  log.info({ routes: routing.routes.length }, `The gateway serves on ${gateway.url}`)
  return gateway
}

/** Puts the routes of the configuration in force; false if something of it needs a restart. */
export function reloadGateway({ inForce, startedWith, gateway }: Service): boolean {
  const routing = routingOf(inForce)
  if (gateway !== undefined && routing !== undefined) gateway.use(routing)
  return atStart(inForce.config.gateway) === atStart(startedWith.gateway)
}

function routingOf({ router, config }: InForce): Routing | undefined {
  return router && { ...router, proxies: config.proxies }
}

/** What is read at the start only. */
function atStart(gateway: GatewayConfig | undefined): string | undefined {
  if (gateway === undefined) return undefined
  const { listen, connections, maxConnections, minBodyRate, accessLog } = gateway
  return JSON.stringify([listen, connections, maxConnections, minBodyRate, accessLog])
}
