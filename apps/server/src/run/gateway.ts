import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.js'
import { type Gateway, startGateway } from '../gateway/gateway.js'
import type { Routing } from '../gateway/in-force.js'
import type { Service } from '../service.js'

/** What a configuration says of the gateway. */
interface GatewaySetup {
  readonly listen: {
    readonly host: string
    readonly port: number
    readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
    readonly http2: boolean
  }
  /** To one upstream. */
  readonly maxConnections: number
  readonly accessLog: 'off' | 'json' | 'combined'
  readonly routing: Omit<Routing, 'proxies'>
}

/** Undefined if there is to be none. */
function setupOf(config: Config): GatewaySetup | undefined {
  return (config as Config & { readonly gateway?: GatewaySetup }).gateway
}

/** Starts the gateway of the configuration in force, if it has one. */
export async function startGatewayOf({ inForce, metrics, log }: Service): Promise<Gateway | undefined> {
  const { config } = inForce
  const setup = setupOf(config)
  if (setup === undefined) return undefined
  const { listen, maxConnections, accessLog, routing } = setup
  const { host, port, tls, http2 } = listen
  const gateway = await startGateway({
    host,
    port,
    tls: tls && { key: readFileSync(tls.keyFile, 'utf8'), cert: readFileSync(tls.certFile, 'utf8'), http2 },
    limits: config.limits,
    maxConnections,
    accessLog:
      accessLog === 'off' ? undefined : { form: accessLog, write: (line) => void process.stdout.write(line) },
    routing: { ...routing, proxies: config.proxies },
    log,
    registry: metrics.registry,
  })
  log.info({ url: gateway.url, routes: routing.routes.length }, 'The gateway listens')
  return gateway
}

/** Puts the routes of the configuration in force; false if that needs a restart. */
export function reloadGateway({ inForce, gateway }: Service, before: Config): boolean {
  const setup = setupOf(inForce.config)
  const old = setupOf(before)
  if (gateway === undefined || setup === undefined || old === undefined) return setup === old
  gateway.use({ ...setup.routing, proxies: inForce.config.proxies })
  return startedAlike(setup, old)
}

/** Whether two differ in nothing that is read at the start only. */
function startedAlike(one: GatewaySetup, other: GatewaySetup): boolean {
  const atStart = ({ listen, maxConnections, accessLog }: GatewaySetup) =>
    JSON.stringify([listen, maxConnections, accessLog])
  return atStart(one) === atStart(other)
}
