import type { Config } from './config.js'

/** Options that are read only once, at startup. */
export const NEEDS_RESTART = [
  'host',
  'port',
  'store',
  'limits',
  'connections',
  'rls',
] as const satisfies (keyof Config)[]

/** Returns the latest configuration, but with the options that are read only at startup as they were then. */
export function startConfig(start: Config, latest: Config): Config {
  const { host, port, store, limits, connections, rls } = start
  return Object.freeze({
    ...latest,
    host,
    port,
    store,
    limits,
    connections,
    rls,
    gateway: gatewayOf(start, latest),
  })
}

/** A gateway that is removed from the file keeps its routes, and a new one needs a restart. */
function gatewayOf({ gateway: start }: Config, { gateway: latest }: Config): Config['gateway'] {
  if (start === undefined || latest === undefined) return start
  const { listen, connections, maxConnections, minBodyRate, accessLog } = start
  return Object.freeze({ ...latest, listen, connections, maxConnections, minBodyRate, accessLog })
}
