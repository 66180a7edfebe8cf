import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import type { Server } from 'node:net'

/* The connections of HTTP/2. Node keeps them as long as clients like, and ends none of them when a server stops. */

const sessions = new WeakMap<Server, ReadonlySet<ServerHttp2Session>>()

/** From the beginning, and lets go of those that have had nothing to do for so long. */
export function trackSessions(server: Http2SecureServer, idleMs: number): void {
  const open = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    open.add(session)
    session.once('close', () => open.delete(session))
    session.setTimeout(idleMs, () => session.close())
  })
  sessions.set(server, open)
}

/** How long one that begins while the server stops is given for its first request. */
const FIRST_REQUEST_MS = 200

/** Ends them as soon as what is open on them has been answered. */
export function closeSessions(server: Server): void {
  for (const session of sessions.get(server) ?? []) session.close()
  // One whose handshake is still under way begins only later, and its first request is on its way then.
  server.on('session', (session: ServerHttp2Session) => {
    setTimeout(() => session.close(), FIRST_REQUEST_MS)
  })
}
