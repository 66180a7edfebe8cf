import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Serving } from './framework.js'

/** Serves on a free port of this machine. Closing ends all connections at once. */
export async function listen(what: RequestListener | Server): Promise<Serving> {
  const server = typeof what === 'function' ? createServer(what) : what
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
