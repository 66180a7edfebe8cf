import { Socket } from 'node:net'

/*
 * Batches work by turn of the event loop: all requests that have arrived are read and decided, then all responses are
 * written, then all are sent. This is faster on a busy server, mostly because clients are woken up together, and does not
 * delay a single request. Responses are sent together on connections that were passed to `sendTogether`, and at once on others.
 */

interface Waiting {
  act: () => void
  failed: (error: unknown) => void
}

let waiting: Waiting[] = []
/** Writes of the current batch; undefined outside of a batch. */
let unsent: (() => void)[] | undefined

/** Runs `act` at the end of the turn. `failed` receives its error; other actions run anyway. */
export function atEndOfTurn(act: () => void, failed: (error: unknown) => void): void {
  if (waiting.push({ act, failed }) === 1) setImmediate(actAll)
}

/** Delays the writes of responses on this connection to the end of their batch. */
export function sendTogether(socket: Socket): void {
  // A response is one chunk or several, depending on Node's version and the body.
  socket._write = (piece, encoding, done) => {
    sendNowOrThen(() => Socket.prototype._write.call(socket, piece, encoding, done))
  }
  socket._writev = (pieces, done) => {
    sendNowOrThen(() => sendPieces(socket, pieces, done))
  }
}

function sendNowOrThen(send: () => void): void {
  if (unsent === undefined) send()
  else unsent.push(send)
}

function actAll(): void {
  const all = waiting
  const written: (() => void)[] = []
  waiting = []
  unsent = written
  try {
    for (const { act, failed } of all) {
      try {
        act()
      } catch (error) {
        failed(error)
      }
    }
  } finally {
    // Send everything, also after an error.
    unsent = undefined
    for (const send of written) send()
  }
}

function sendPieces(socket: Socket, pieces: Pieces, done: (error?: Error | null) => void): void {
  // Node marks the end of a response with an empty chunk. A single chunk needs no writev.
  const [only, another] = pieces.filter(({ chunk }) => chunk.length > 0)
  if (only === undefined || another !== undefined) Socket.prototype._writev!.call(socket, pieces, done)
  else Socket.prototype._write.call(socket, only.chunk, only.encoding, done)
}

type Pieces = Parameters<NonNullable<Socket['_writev']>>[0]
