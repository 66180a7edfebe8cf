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
    /** The authenticated caller; null for administrators, and if no caller is configured. */
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
    if (token === undefined) return done(unauthorized('Missing token; send the token of a caller'))
    const caller = findCaller(tokens, token)
    if (caller === undefined) {
      return rejectToken(service, request, done, unauthorized('Unknown token; send the token of a caller'))
    }
    request.caller = caller
    done()
  }
}

/** Finds the caller of a token; null for the admin token, undefined for an unknown token. */
export function findCaller({ callers, admin }: Tokens, token: string): Caller | null | undefined {
  const tokenDigest = digest(token)
  let match: Caller | null | undefined = timingSafeEqual(tokenDigest, admin) ? null : undefined
  // Compares with every token, so that the duration does not depend on the match.
  for (const { caller, token } of callers) if (timingSafeEqual(tokenDigest, token)) match = caller
  return match
}

/** Requires the admin token. */
export function adminsOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const token = bearerOf(request.raw)
    if (token === undefined) {
      const isGenerated = service.activeConfig.config.adminToken === undefined
      const source = isGenerated ? ', which the service logs when it starts,' : ''
      return done(unauthorized(`Missing token; send the admin token${source}`))
    }
    if (timingSafeEqual(digest(token), service.activeConfig.tokens.admin)) done()
    else rejectToken(service, request, done, unauthorized('Wrong token; send the admin token'))
  }
}

/** Rejects a wrong token with `wrongToken`, or with 429 if its client has sent too many. */
export function rejectToken(
  { guesses }: Service,
  request: FastifyRequest,
  done: (error: Error) => void,
  wrongToken: HttpError,
): void {
  guesses.record(clientAddress(request.activeConfig, request.raw) ?? '', (retryAfterSeconds) => {
    if (retryAfterSeconds === 0) return done(wrongToken)
    const headers = { 'retry-after': String(retryAfterSeconds) }
    const message = `Too many wrong tokens from this address; retry in ${retryAfterSeconds} s, or send the right token.`
    done(new HttpError(429, message, { headers }))
  })
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([!-~]+)$/i.exec(headers.authorization ?? '')?.[1]
}

function unauthorized(problem: string): HttpError {
  const headers = { 'www-authenticate': 'Bearer realm="tidegate"' }
  return new HttpError(401, `${problem} as Authorization: Bearer <token>.`, { headers })
}
