import type { IncomingMessage } from 'node:http'
import { clientIp } from '@tidegate/http'
import type { FastifyRequest } from 'fastify'
import type { ActiveConfig } from '../../active-config.js'

/** The client's address, read through the trusted proxies; undefined once its connection is closed. */
export function clientAddress(
  { config }: ActiveConfig,
  { socket, headers }: IncomingMessage,
): string | undefined {
  return clientIp(config.proxies, socket.remoteAddress, (name) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  })
}

/** Identifies the client that shares of memory and of the store are counted for: its caller, or else its address. */
export function clientOf({ caller, activeConfig, raw }: FastifyRequest): string {
  return caller === null ? `ip:${clientAddress(activeConfig, raw) ?? ''}` : `caller:${caller.name}`
}
