import type { IncomingMessage, ServerResponse } from 'node:http'

/** Of a body that nobody wants, this much is read and thrown away. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024
const MAX_DISCARDING_MS = 5000

const discarding = new WeakSet<IncomingMessage>()

/**
 * Deals with what is still to come of a body after its request has been answered or refused. To close the connection at
 * once would often destroy the answer before the client has read it, so the rest is read and thrown away; if that is much,
 * or takes long, the connection ends with the answer.
 */
export function discardBody(message: IncomingMessage, response: ServerResponse): void {
  if (message.complete || message.destroyed || discarding.has(message)) return
  discarding.add(message)
  let bytes = 0
  const giveUp = () => {
    message.pause()
    if (response.writableFinished || response.destroyed) message.destroy()
    else response.once('finish', () => message.destroy())
  }
  const timer = setTimeout(giveUp, MAX_DISCARDING_MS)
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_DISCARDED_BYTES) giveUp()
  })
  message.on('close', () => clearTimeout(timer))
  message.on('error', () => {})
  message.resume()
}
