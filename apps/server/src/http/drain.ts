import { once } from 'node:events'
import { Server } from 'node:net'
import { closeAfterResponses, closeIdle, connectionsOf } from './connection-tracker.js'

/** How long idle connections stay open for requests that are on their way. */
const GRACE_MS = 200

/**
 * Stops accepting connections, and finishes the requests in flight within `timeoutMs`. Idle connections stay open for a
 * moment, because a request may be on its way; it gets a response with Connection: close.
 */
export async function drain(server: Server, timeoutMs: number): Promise<void> {
  const ended = once(server, 'close')
  const idle = setInterval(() => closeIdle(server), GRACE_MS)
  const timeout = setTimeout(
    () => {
      for (const socket of connectionsOf(server)) socket.destroy()
    },
    Math.max(GRACE_MS, timeoutMs),
  )
  closeAfterResponses(server)
  // Not server.close() of node:http, which closes idle connections first.
  Server.prototype.close.call(server)
  await ended
  clearInterval(idle)
  clearTimeout(timeout)
}
