import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { Server } from 'node:net'

/* HTTP/2 connections. Node neither ends idle ones nor closes them when a server stops. */

const sessions = new WeakMap<Server, ReadonlySet<ServerHttp2Session>>()

/** Tracks the sessions of a server, and closes those that are idle for `idleMs`. */
export function trackSessions(server: Http2SecureServer, idleMs: number): void {
  const open = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    open.add(session)
    session.once('close', () => open.delete(session))
    session.setTimeout(idleMs, () => session.close())
  })
  sessions.set(server, open)
}

/** Time for the first request of a session that begins while the server stops. */
const FIRST_REQUEST_MS = 200

/** Closes all sessions as soon as their open streams have ended. */
export function closeSessions(server: Server): void {
  for (const session of sessions.get(server) ?? []) session.close()
  // A handshake may still be in progress, and its first request may follow at once.
  server.on('session', (session: ServerHttp2Session) => {
    setTimeout(() => session.close(), FIRST_REQUEST_MS)
  })
}
