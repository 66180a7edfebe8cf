import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ActiveConfig } from '../../active-config.js'
import type { Caller } from '../../config/sections/callers.js'
import { HttpError } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { digest, type Tokens } from '../../tokens.js'
import { clientAddress } from './client-address.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; null for administrators, and where no caller is configured. */
    caller: Caller | null
    /** The configuration that was active when the request arrived. It stays the same while the body is read. */
    activeConfig: ActiveConfig
  }
}

export type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Requires a token of a caller or of an administrator, if the configuration has callers. */
export function callersOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const { tokens } = service.activeConfig
    if (tokens.callers.length === 0) return done()
    const token = bearerOf(request.raw)
    if (token === undefined) return done(unauthorized('Send the token of a caller'))
    const caller = findCaller(tokens, token)
    if (caller === undefined) {
      return rejectToken(service, request, done, unauthorized('Unknown token; send the token of a caller'))
    }
    request.caller = caller
    done()
  }
}

/** The caller with this token; null for the admin token, undefined for an unknown one. */
export function findCaller({ callers, admin }: Tokens, token: string): Caller | null | undefined {
  const sent = digest(token)
  let found: Caller | null | undefined = timingSafeEqual(sent, admin) ? null : undefined
  // Compares with every token, so that the time taken does not depend on which one matches.
  for (const { caller, token } of callers) if (timingSafeEqual(sent, token)) found = caller
  return found
}

/** Requires the admin token. */
export function adminsOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const token = bearerOf(request.raw)
    if (token === undefined) {
      const isGenerated = service.activeConfig.config.adminToken === undefined
      const where = isGenerated ? ', which the service logs when it starts,' : ''
      return done(unauthorized(`Send the admin token${where}`))
    }
    if (timingSafeEqual(digest(token), service.activeConfig.tokens.admin)) done()
    else rejectToken(service, request, done, unauthorized('Wrong token; send the admin token'))
  }
}

/** Rejects a wrong token with this error, or with 429 if its client has sent too many. */
export function rejectToken(
  { guesses }: Service,
  request: FastifyRequest,
  done: (error: Error) => void,
  wrongToken: HttpError,
): void {
  guesses.record(clientAddress(request.activeConfig, request.raw) ?? '', (retryAfterSeconds) => {
    if (retryAfterSeconds === 0) return done(wrongToken)
    const headers = { 'retry-after': String(retryAfterSeconds) }
    const text = `Too many wrong tokens from this address; retry in ${retryAfterSeconds} s, or send the right token.`
    done(new HttpError(429, text, { headers }))
  })
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([!-~]+)$/i.exec(headers.authorization ?? '')?.[1]
}

function unauthorized(what: string): HttpError {
  const headers = { 'www-authenticate': 'Bearer realm="tidegate"' }
  return new HttpError(401, `${what} as Authorization: Bearer <token>.`, { headers })
}
