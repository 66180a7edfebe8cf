import { type IncomingMessage, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Client } from 'undici'
import type { HeadToSend, RawHeaders } from './response-headers.js'
import type { Upstream } from './upstreams.js'

/** A connection that wants to go on as something else, and what has come on it already. */
export interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket'
}

/** What an upstream must say, besides 101: it might agree to something that nobody has asked for. */
export function agreesToWebSocket(raw: RawHeaders): boolean {
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.toString('latin1').toLowerCase() !== 'upgrade') continue
    return raw[i + 1]!.toString('latin1').trim().toLowerCase() === 'websocket'
  }
  return false
}

/** A connection of its own: it will never be one for requests again, and each of its directions may end by itself. */
export function connectionFor({ origin }: Upstream, connectMs: number): Client {
  return new Client(origin, { connect: { timeout: connectMs, allowHalfOpen: true }, pipelining: 1 })
}

/** The head of an answer on a bare connection. Its status no filter can change: whatever it said, what follows is a tunnel. */
export function rawHead({ flat }: HeadToSend): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  for (let i = 0; i < flat.length; i += 2) {
    // A filter may have set them.
    validateHeaderName(flat[i]!)
    validateHeaderValue(flat[i]!, flat[i + 1]!)
    head += `${flat[i]}: ${flat[i + 1]}\r\n`
  }
  return `${head}\r\n`
}

const KEEP_ALIVE_MS = 60_000

/**
 * Passes on whatever comes, both ways, no faster than the other side reads it. If one side has said all it has to say, the
 * other may go on; if one is lost, so is the other.
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
      // What it has said last may still be on its way.
      if (from.readableEnded) to.destroySoon()
      else to.destroy()
    })
    from.pipe(to)
  }
}
