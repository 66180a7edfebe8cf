import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { contains, parseAddress, parseCidr } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../config/callers.js'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'
import { digest } from '../tokens.js'
import { ApiError } from './api-error.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null if nobody has to say, or an administrator does. */
    caller: Caller | null
    /** What was in force when it came. Its body may come much later, and means what it meant then. */
    inForce: InForce
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void

/** Lets callers through, if there are any in the file; else everybody. Administrators may ask too. */
export function callersOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const { callers, admin } = service.inForce.tokens
    if (callers.length === 0) return done()
    const token = bearerOf(request.raw)
    if (token === undefined) return done(unauthorized('Send a caller’s token'))
    const given = digest(token)
    let isKnown = admin !== undefined && timingSafeEqual(given, admin)
    // All of them, however soon one is found: how long it takes says nothing.
    for (const { caller, token } of callers) {
      if (!timingSafeEqual(given, token)) continue
      request.caller = caller
      isKnown = true
    }
    done(isKnown ? undefined : unauthorized('This token is not known; send a caller’s'))
  }
}

/** Lets administrators through: whoever has the token or, if there is none, is on this machine. */
export function adminsOnly(service: Service): Hook {
  return (request, _reply, done) => {
    const { admin } = service.inForce.tokens
    if (admin === undefined) {
      if (isFromThisMachine(request.raw)) return done()
      const instead = 'Set adminToken in the file or TIDEGATE_ADMIN_TOKEN to administer it from elsewhere.'
      return done(new ApiError(403, `Without an admin token, only this machine may do that. ${instead}`))
    }
    const token = bearerOf(request.raw)
    if (token === undefined) return done(unauthorized('Send the admin token'))
    done(
      timingSafeEqual(digest(token), admin)
        ? undefined
        : unauthorized('This is not the admin token; send it'),
    )
  }
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([!-~]+)$/i.exec(headers.authorization ?? '')?.[1]
}

function unauthorized(what: string): ApiError {
  const headers = { 'www-authenticate': 'Bearer realm="tidegate"' }
  return new ApiError(401, `${what} as Authorization: Bearer <token>.`, { headers })
}

const LOOPBACK = [parseCidr('127.0.0.0/8')!, parseCidr('::1')!]

/**
 * A proxy on this machine makes everybody look local, so nothing that one adds may be there; and a web page can make a
 * browser here ask under a name of its own, so the name must be local too. Under ours, a page can have something done
 * without reading the answer; a browser then says which page it is.
 */
function isFromThisMachine({ socket, headers }: IncomingMessage): boolean {
  if (!isLoopback(socket.remoteAddress)) return false
  for (const name in headers) {
    if (name === 'forwarded' || name === 'via' || name === 'x-real-ip') return false
    if (name.startsWith('x-forwarded-')) return false
  }
  if (headers.origin !== undefined && !isLoopbackHost(headers.origin.replace(/^https?:\/\//, '')))
    return false
  return headers.host !== undefined && isLoopbackHost(headers.host)
}

/** Whether a host, perhaps with a port, is this machine by itself. */
export function isLoopbackHost(host: string): boolean {
  return /^localhost(?::\d{1,5})?$/i.test(host) || isLoopback(host)
}

function isLoopback(text: string | undefined): boolean {
  const address = text === undefined ? undefined : parseAddress(text)
  return address !== undefined && LOOPBACK.some((range) => contains(range, address))
}
