import type { IncomingMessage, ServerResponse } from 'node:http'

/** Upper bound of a request body that is read and discarded. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024
const MAX_DISCARDING_MS = 5000

const discarding = new WeakSet<IncomingMessage>()

/**
 * Reads and discards the rest of a request body after the response: closing the connection at once would often destroy the
 * response before the client has read it. If the rest is large or slow, the connection is closed after the response.
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
