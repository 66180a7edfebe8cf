import { once } from 'node:events'
import { Server } from 'node:net'
import { closeAfterAnswers, closeIdle, connectionsOf } from './connections.js'

/** How long connections that have nothing to do are kept, for a request that may be on its way. */
const GRACE_MS = 200

/**
 * Stops accepting, and answers what is there, for so long at most. Node would close connections that are idle at this
 * very moment, though the next request may be on its way to them already. So for a moment they stay open; whoever asks on
 * them is answered, and told that the connection closes.
 */
export async function drain(server: Server, timeoutMs: number): Promise<void> {
  const ended = once(server, 'close')
  const idle = setInterval(() => closeIdle(server), GRACE_MS)
  const late = setTimeout(
    () => {
      for (const socket of connectionsOf(server)) socket.destroy()
    },
    Math.max(GRACE_MS, timeoutMs),
  )
  closeAfterAnswers(server)
  // Not the server's own, which closes idle connections first.
  Server.prototype.close.call(server)
  await ended
  clearInterval(idle)
  clearTimeout(late)
}
