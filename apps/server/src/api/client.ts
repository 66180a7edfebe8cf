import type { IncomingMessage } from 'node:http'
import { clientIp } from '@tidegate/http'
import type { FastifyRequest } from 'fastify'
import type { InForce } from '../in-force.js'

/** The client's address, read through the trusted proxies; undefined once its connection is closed. */
export function clientAddress({ config }: InForce, { socket, headers }: IncomingMessage): string | undefined {
  return clientIp(config.proxies, socket.remoteAddress, (name) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  })
}

/** Identifies the client that shares of memory and of the store are counted for: its caller, or else its address. */
export function clientOf({ caller, inForce, raw }: FastifyRequest): string {
  return caller === null ? `ip:${clientAddress(inForce, raw) ?? ''}` : `caller:${caller.name}`
}
