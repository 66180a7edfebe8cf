import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ClientShares, createClientShares } from '../../http/client-shares.js'
import { HttpError } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { clientOf } from './client-address.js'

/** Bodies up to this size are not counted: the number of connections bounds them. */
const SMALL_BYTES = 4096
const MAX_BYTES_PER_CLIENT = 8 * 1024 * 1024
const MAX_BYTES_TOGETHER = 64 * 1024 * 1024

export function createBodyBudget(): ClientShares {
  return createClientShares({ perClient: MAX_BYTES_PER_CLIENT, together: MAX_BYTES_TOGETHER })
}

/** Bounds the memory of bodies that are being received. Register as `preParsing` hook. */
export function boundBodies({ bodies }: Service) {
  return (
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: unknown,
    done: (error?: Error | null, payload?: never) => void,
  ): void => {
    const bytes = bytesOf(request)
    const client = bytes > SMALL_BYTES ? clientOf(request) : undefined
    if (client !== undefined && !bodies.take(client, bytes)) {
      done(TOO_MANY_BODIES)
      return
    }
    // Emitted after the body was read, and after its connection was closed.
    if (client !== undefined) request.raw.once('close', () => bodies.give(client, bytes))
    done(null, payload as never)
  }
}

/** Maximum size of a body; 0 for one that is rejected by its length. */
function bytesOf({ headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit = 0 } = routeOptions
  if (headers['transfer-encoding'] !== undefined) return bodyLimit
  const bytes = Number(headers['content-length'] ?? 0)
  return bytes > bodyLimit ? 0 : bytes
}

const TOO_MANY_BODIES = new HttpError(
  429,
  'Too many large request bodies are being received; retry in 1 s.',
  { headers: { 'retry-after': '1', connection: 'close' } },
)
