import { once } from 'node:events'
import { Server as NetServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { closeAfterAnswers, closeIdle } from '../api/http-server.js'
import type { Service } from '../service.js'

/** How long connections that have nothing to do are kept, for a request that may be on its way. */
const GRACE_MS = 200

/**
 * Stops accepting, and answers what is there. Node would close connections that are idle at this very moment, though the
 * next request may be on its way to them already. So for a moment they stay open; whoever asks on them is answered, and
 * told that the connection closes.
 */
export async function stopServing({ server, close }: FastifyInstance, service: Service): Promise<void> {
  if (service.isStopping) return
  service.isStopping = true
  const { stopTimeoutMs } = service.inForce.config.limits
  const ended = once(server, 'close')
  const idle = setInterval(() => closeIdle(server), GRACE_MS)
  const late = setTimeout(() => server.closeAllConnections(), Math.max(GRACE_MS, stopTimeoutMs))
  closeAfterAnswers(server)
  // Not the server's own, which closes idle connections first.
  NetServer.prototype.close.call(server)
  await ended
  clearInterval(idle)
  clearTimeout(late)
  await close()
  await service.store.close()
}
