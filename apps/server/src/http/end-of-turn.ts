import { Socket } from 'node:net'

/*
 * What is done at the end of a turn of the event loop, together with all else that came in it: first everything that has
 * arrived is read and decided, then everything is answered, then all answers are sent. To answer each request before the
 * next is read, or to send each answer before the next is made, costs a busy server more, above all because whoever waits
 * is woken up for each by itself. A request that comes alone waits for nothing. Only connections that were given to
 * `sendTogether` have their answers sent together; on all others each is sent as it is made.
 */

interface Waiting {
  act: () => void
  failed: (error: unknown) => void
}

let waiting: Waiting[] = []
/** What the answers that are being made have written; undefined while none is being made. */
let unsent: (() => void)[] | undefined

/** `failed` is told what is thrown: the others are done nevertheless. */
export function atEndOfTurn(act: () => void, failed: (error: unknown) => void): void {
  if (waiting.push({ act, failed }) === 1) setImmediate(actAll)
}

/** From now on what answers write on this connection is sent when the last of a turn is made. */
export function sendTogether(socket: Socket): void {
  // An answer is one piece or several, by Node's version and what is in it.
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
    // Whatever becomes of this turn, nothing that was written is kept.
    unsent = undefined
    for (const send of written) send()
  }
}

function sendPieces(socket: Socket, pieces: Pieces, done: (error?: Error | null) => void): void {
  // Node's mark of an answer's end is an empty piece, and for one piece alone there is a shorter way.
  const [only, another] = pieces.filter(({ chunk }) => chunk.length > 0)
  if (only === undefined || another !== undefined) Socket.prototype._writev!.call(socket, pieces, done)
  else Socket.prototype._write.call(socket, only.chunk, only.encoding, done)
}

type Pieces = Parameters<NonNullable<Socket['_writev']>>[0]
