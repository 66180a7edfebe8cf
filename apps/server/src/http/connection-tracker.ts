import type { ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'

/*
 * Tracks the connections of a server. Node does not expose their current response, and does not count a new connection
 * without a request as idle.
 */

const connections = new WeakMap<Server, ReadonlySet<Socket>>()

/** Must be called before the server listens. */
export function trackConnections(server: Server): void {
  const sockets = new Set<Socket>()
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  server.on('connection', track)
  // Responses are written to the TLS socket.
  server.on('secureConnection', track)
  connections.set(server, sockets)
}

export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return connections.get(server) ?? new Set()
}

/** Closes each connection after its current response. */
export function closeAfterResponses(server: Server): void {
  for (const socket of connectionsOf(server)) {
    // Node has no public property for the current response of a socket.
    const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse }
    if (response != null) response.shouldKeepAlive = false
  }
}

/** Closes idle connections, including those without a first request. */
export function closeIdle(server: Server): void {
  if ('closeIdleConnections' in server) (server.closeIdleConnections as () => void)()
  for (const socket of connectionsOf(server)) if (socket.bytesRead === 0) socket.destroy()
}
