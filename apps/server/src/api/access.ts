import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../config/callers.js'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'
import { digest } from '../tokens.js'
import { ApiError } from './api-error.js'
import { clientAddress } from './client.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; null for administrators, and where no caller is configured. */
    caller: Caller | null
    /** The configuration that was active when the request arrived. It stays the same while the body is read. */
    inForce: InForce
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Requires a token of a caller or of an administrator, if the configuration has callers. */
export function callersOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const { callers, admin } = service.inForce.tokens
    if (callers.length === 0) return done()
    const token = bearerOf(request.raw)
    if (token === undefined) return done(unauthorized('Send a caller’s token'))
    const sent = digest(token)
    let isKnown = timingSafeEqual(sent, admin)
    // Compares with every token, so that the time taken does not depend on which one matches.
    for (const { caller, token } of callers) {
      if (!timingSafeEqual(sent, token)) continue
      request.caller = caller
      isKnown = true
    }
    if (isKnown) done()
    else rejectToken(service, request, done, 'This token is not known; send a caller’s')
  }
}

/** Requires the admin token. */
export function adminsOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const token = bearerOf(request.raw)
    if (token === undefined) {
      const isGenerated = service.inForce.config.adminToken === undefined
      const where = isGenerated ? ', which the service logs when it starts,' : ''
      return done(unauthorized(`Send the admin token${where}`))
    }
    if (timingSafeEqual(digest(token), service.inForce.tokens.admin)) done()
    else rejectToken(service, request, done, 'This is not the admin token; send it')
  }
}

function rejectToken(
  { guesses }: Service,
  request: FastifyRequest,
  done: (error: Error) => void,
  message: string,
): void {
  guesses.record(clientAddress(request.inForce, request.raw) ?? '', (retryAfterSeconds) => {
    if (retryAfterSeconds === 0) return done(unauthorized(message))
    const headers = { 'retry-after': String(retryAfterSeconds) }
    const text = `Too many wrong tokens from this address; try again in ${retryAfterSeconds} s, or send the right one.`
    done(new ApiError(429, text, { headers }))
  })
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([!-~]+)$/i.exec(headers.authorization ?? '')?.[1]
}

function unauthorized(what: string): ApiError {
  const headers = { 'www-authenticate': 'Bearer realm="tidegate"' }
  return new ApiError(401, `${what} as Authorization: Bearer <token>.`, { headers })
}
