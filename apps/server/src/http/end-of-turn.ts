import { Socket } from 'node:net'

/*
 * What is done at the end of a turn of the event loop, together with all else that came in it: first everything that has
 * arrived is read and decided, then everything is answered, then all answers are sent. To answer each request before the
 * next is read, or to send each answer before the next is made, costs a busy server more, above all because whoever waits
 * is woken up for each by itself. A request that comes alone waits for nothing. Only what answers on connections that
 * `sendTogether` knows is kept until all are made.
 */

interface Waiting {
  act: () => void
  failed: (error: unknown) => void
}

/** What a connection is to write: what Node asks of it, and whom it tells when that is done. */
interface Outgoing {
  socket: Socket
  pieces: Pieces
  done: (error?: Error | null) => void
}

type Pieces = Parameters<NonNullable<Socket['_writev']>>[0]

let waiting: Waiting[] = []
/** Of the answers that are being made; undefined while none is. */
let outgoing: Outgoing[] | undefined

/** `failed` is told what is thrown: the others are done nevertheless. */
export function atEndOfTurn(act: () => void, failed: (error: unknown) => void): void {
  if (waiting.push({ act, failed }) === 1) setImmediate(actAll)
}

/** From now on what answers write on this connection is sent when the last of a turn is made. */
export function sendTogether(socket: Socket): void {
  // To Node an answer with a body is several pieces. What is one piece is sent as it comes.
  socket._writev = (pieces, done) => {
    if (outgoing === undefined) send({ socket, pieces, done })
    else outgoing.push({ socket, pieces, done })
  }
}

function actAll(): void {
  const all = waiting
  const made: Outgoing[] = []
  waiting = []
  outgoing = made
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
    outgoing = undefined
    for (const one of made) send(one)
  }
}

function send({ socket, pieces, done }: Outgoing): void {
  // Node's mark of an answer's end is an empty piece, and for one piece alone there is a shorter way.
  const [only, another] = pieces.filter(({ chunk }) => chunk.length > 0)
  if (only === undefined || another !== undefined) Socket.prototype._writev!.call(socket, pieces, done)
  else Socket.prototype._write.call(socket, only.chunk, only.encoding, done)
}
