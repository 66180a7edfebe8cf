import { decideCors, VARY_BY_ORIGIN } from '../cors/cors.js'
import type { GatewayRequestFacts } from '../request/request-facts.js'
import type { RequestContext } from './request-context.js'

/** Responds to preflights, and rejects cross-origin requests that are not allowed. Returns whether it has responded. */
export function respondToCors(context: RequestContext, request: GatewayRequestFacts): boolean {
  const forwarded = request.peer.isTrusted ? request.header('x-forwarded-host') : undefined
  const hosts = [context.message.headers.host ?? request.header(':authority'), forwarded]
  const decision = decideCors(context.routing.cors, request, hosts)
  if (decision === undefined) return false
  if (decision.headers === undefined) {
    context.corsHeaders = VARY_BY_ORIGIN
    context.reject(403, 'The origin, method or a header of this cross-origin request is not allowed.')
    return true
  }
  context.corsHeaders = decision.headers
  if (decision.isPreflight) context.respond(204, {}, '')
  return decision.isPreflight
}
