import type { ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'

/*
 * The connections of a server. Node knows them too, but not which answer is being made on one, and to it a connection
 * that has not seen a request yet is not idle.
 */

const connections = new WeakMap<Server, ReadonlySet<Socket>>()

/** From the beginning: what was there before is not seen. */
export function trackConnections(server: Server): void {
  const sockets = new Set<Socket>()
  const track = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  server.on('connection', track)
  // Of TLS, what is inside: answers are made on that.
  server.on('secureConnection', track)
  connections.set(server, sockets)
}

export function connectionsOf(server: Server): ReadonlySet<Socket> {
  return connections.get(server) ?? new Set()
}

/** Keeps no connection beyond the answer that is being made on it. */
export function closeAfterAnswers(server: Server): void {
  for (const socket of connectionsOf(server)) {
    // Node has no other way to know which answer is being made on a connection.
    const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse }
    if (answer != null) answer.shouldKeepAlive = false
  }
}

/** Closes what waits for a request. */
export function closeIdle(server: Server): void {
  if ('closeIdleConnections' in server) (server.closeIdleConnections as () => void)()
  for (const socket of connectionsOf(server)) if (socket.bytesRead === 0) socket.destroy()
}
