import { type IncomingMessage, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Client } from 'undici'
import type { Upstream } from '../upstreams/upstreams.js'
import type { HeadToSend, RawHeaders } from './response-headers.js'

/** A connection to upgrade, and the first bytes received after the request. */
export interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket'
}

/** Whether an upstream's 101 response upgrades to WebSocket, and not to another protocol. */
export function acceptsWebSocket(raw: RawHeaders): boolean {
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.toString('latin1').toLowerCase() !== 'upgrade') continue
    return raw[i + 1]!.toString('latin1').trim().toLowerCase() === 'websocket'
  }
  return false
}

/** Opens a connection for a WebSocket: it cannot return to the pool, and may be half closed. */
export function connectionFor({ origin }: Upstream, connectMs: number): Client {
  return new Client(origin, { connect: { timeout: connectMs, allowHalfOpen: true }, pipelining: 1 })
}

/** The response head of a WebSocket upgrade. The status is 101 even if a filter sets another one. */
export function rawHead({ flat }: HeadToSend): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  for (let i = 0; i < flat.length; i += 2) {
    // A filter may have set invalid ones.
    validateHeaderName(flat[i]!)
    validateHeaderValue(flat[i]!, flat[i + 1]!)
    head += `${flat[i]}: ${flat[i + 1]}\r\n`
  }
  return `${head}\r\n`
}

const KEEP_ALIVE_MS = 60_000

/**
 * Pipes two sockets into each other with backpressure. If one side ends, the other may continue; if one side is
 * destroyed, so is the other.
 */
export function tunnel(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true)
    from.setKeepAlive(true, KEEP_ALIVE_MS)
    from.on('error', () => from.destroy())
    from.on('close', () => {
      // Flush the last bytes first.
      if (from.readableEnded) to.destroySoon()
      else to.destroy()
    })
    from.pipe(to)
  }
}
