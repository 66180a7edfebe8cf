import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait for their responses. Few clients pipeline, and none so many. */
const MAX_PER_CONNECTION = 100
/** If more wait on all connections together, each connection may have one. */
const MAX_TOGETHER = 10_000

export interface Pipelining {
  /** Counts a request until its response is finished. Returns false if its connection was closed for pipelining. */
  accept(socket: Socket, response: ServerResponse): boolean
}

/**
 * Bounds the responses that wait on each connection. Node parses all requests of a read at once, and each takes a hundred
 * times its size on the wire, so that a connection beyond the bound must be closed instead of paused.
 */
export function boundPipelining(onClose: () => void): Pipelining {
  const waiting = new WeakMap<Socket, { count: number }>()
  let together = 0

  function entryOf(socket: Socket): { count: number } {
    const existing = waiting.get(socket)
    if (existing !== undefined) return existing
    const entry = { count: 0 }
    waiting.set(socket, entry)
    // Node does not report the end of responses that wait behind others on a closed connection.
    socket.once('close', () => {
      together -= entry.count
      entry.count = Number.NEGATIVE_INFINITY
    })
    return entry
  }

  return {
    accept(socket, response) {
      if (socket.destroyed) return false
      const entry = entryOf(socket)
      if (entry.count >= (together < MAX_TOGETHER ? MAX_PER_CONNECTION : 1)) {
        socket.destroy()
        onClose()
        return false
      }
      entry.count++
      together++
      response.once('close', () => {
        if (entry.count < 0) return
        entry.count--
        together--
      })
      return true
    },
  }
}
