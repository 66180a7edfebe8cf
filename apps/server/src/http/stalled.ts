import type { Server, Socket } from 'node:net'
import { connectionsOf } from './connection-tracker.js'

/** Checks per timeout: a connection is closed at most a quarter of the timeout late. */
const CHECKS_PER_TIMEOUT = 4

interface Progress {
  acceptedBytes: number
  sinceMs: number
}

/**
 * Closes connections whose client has read nothing for `timeoutMs` although a response is waiting. The server must be tracked
 * by `trackConnections`.
 */
export function closeStalled(server: Server, timeoutMs: number, onClose: () => void): void {
  const progress = new WeakMap<Socket, Progress>()

  function isStalled(socket: Socket, nowMs: number): boolean {
    if (socket.writableLength === 0) {
      progress.delete(socket)
      return false
    }
    const acceptedBytes = socket.bytesWritten - socket.writableLength
    const before = progress.get(socket)
    if (before?.acceptedBytes === acceptedBytes) return nowMs - before.sinceMs >= timeoutMs
    progress.set(socket, { acceptedBytes, sinceMs: nowMs })
    return false
  }

  const timer = setInterval(
    () => {
      const nowMs = performance.now()
      for (const socket of connectionsOf(server)) {
        if (!isStalled(socket, nowMs)) continue
        socket.destroy()
        onClose()
      }
    },
    Math.max(10, timeoutMs / CHECKS_PER_TIMEOUT),
  ).unref()
  server.once('close', () => clearInterval(timer))
}
