import type { Config } from './config.js'

/** What is read once, at the start. */
export const NEEDS_RESTART = ['host', 'port', 'store', 'limits'] as const satisfies (keyof Config)[]

/** A configuration as a service has it that was started with another: what is read once stays. */
export function startedWith(start: Config, latest: Config): Config {
  const { host, port, store, limits } = start
  return Object.freeze({ ...latest, host, port, store, limits, gateway: gatewayOf(start, latest) })
}

/** One that is gone from the file goes on with the routes it had, and one that is new is not there yet. */
function gatewayOf({ gateway: start }: Config, { gateway: latest }: Config): Config['gateway'] {
  if (start === undefined || latest === undefined) return start
  const { listen, connections, maxConnections, minBodyRate, accessLog } = start
  return Object.freeze({ ...latest, listen, connections, maxConnections, minBodyRate, accessLog })
}
