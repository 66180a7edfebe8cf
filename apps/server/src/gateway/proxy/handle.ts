import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { canonicalPath } from '@tidegate/http'
import { HEADERS_TOO_LARGE } from '../../http/bad-http.js'
import { BAD_EXPECTATION, hasBadExpectation, problemOf } from '../../http/strict.js'
import { GatewayRequestFacts } from '../request/request-facts.js'
import { NoCanonicalPath, type ResponseHead, type RouteDecision } from '../route.js'
import type { ActiveRoute } from '../routing/active-routes.js'
import { discardBody } from './discard-body.js'
import { forward } from './forward.js'
import { forwardWithinBudget, holdMemory, TOO_MANY_BODIES } from './forward-within-budget.js'
import { headerBytesOf, isHttp2, problemOfHttp2 } from './http2.js'
import { hasBody, RequestBody, tooLarge } from './request-body.js'
import { type GatewayState, RequestContext } from './request-context.js'
import { flatOf, forwardOf, headersToSend, isLoop, withoutBodyHeaders } from './request-headers.js'
import { respondToCors } from './respond-to-cors.js'
import type { Upgrade } from './web-socket.js'

const UNLIMITED: RouteDecision = { denial: undefined, headers: {}, holdMs: 0 }
const NO_CANONICAL_FORM =
  'The path has no canonical form; send it without backslashes, %2F, %5C, invalid escapes and .. above the root.'

/** Handles one request: validates it, finds its route, checks the rate limits, and forwards it. */
export function handle(
  state: GatewayState,
  message: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
): void {
  // A pipelined request waits for the earlier responses, so that requests keep their order.
  if (response.socket === null) {
    waitForTurn(message.socket, response, () => handle(state, message, response, upgrade))
    return
  }
  const context = new RequestContext(state, message, response, upgrade)
  if (state.isStopping) response.shouldKeepAlive = false
  try {
    begin(context)
  } catch (error) {
    context.fail(error)
  }
}

/** Pipelined requests that may wait on one connection. Node reads on meanwhile, and each request takes memory. */
const MAX_WAITING = 100
const waiting = new WeakMap<Socket, number>()

function waitForTurn(socket: Socket, response: ServerResponse, callback: () => void): void {
  const count = (waiting.get(socket) ?? 0) + 1
  // Requests of a chunk that Node has already read still arrive after destroy().
  if (count > MAX_WAITING || socket.destroyed) return void socket.destroy()
  waiting.set(socket, count)
  response.once('socket', () => {
    waiting.set(socket, waiting.get(socket)! - 1)
    callback()
  })
}

function begin(context: RequestContext): void {
  const { message, response, routing, state } = context
  if (isHttp2(message) && headerBytesOf(message) > state.maxHeaderBytes) {
    return void context.reject(431, HEADERS_TOO_LARGE)
  }
  const problem = isHttp2(message) ? problemOfHttp2(message) : problemOf(message)
  if (problem !== undefined) {
    response.shouldKeepAlive = false
    return void context.reject(400, problem)
  }
  if (hasBadExpectation(message)) return void context.reject(417, BAD_EXPECTATION)
  const target = canonicalPath(message.url ?? '')
  if (target === undefined) return void context.reject(400, NO_CANONICAL_FORM)
  if (message.method === 'TRACE') return void context.reject(405, 'TRACE is not supported.')
  if (isLoop(message))
    return void context.reject(508, 'Loop detected: an upstream routes back to this gateway.')
  const peer = routing.peerOf(message.socket)
  const request = new GatewayRequestFacts(message, target, peer, routing.proxies, Date.now())
  context.request = request
  if (routing.cors.length > 0 && respondToCors(context, request)) return
  const activeRoute = routing.find(request)
  if (activeRoute === undefined) return void context.reject(404, 'No route matches this request.')
  context.activeRoute = activeRoute
  limit(context, request, activeRoute)
}

/** Checks the limits of a route, and applies their decision. `outer` are headers of the limits before a fallback. */
function limit(
  context: RequestContext,
  request: GatewayRequestFacts,
  activeRoute: ActiveRoute,
  outer?: RouteDecision['headers'],
): void {
  const { limiter } = activeRoute.route
  const apply = (decision: RouteDecision) => {
    const headers = { ...outer, ...decision.headers }
    applyDecision(context, request, activeRoute, outer === undefined ? decision : { ...decision, headers })
  }
  const decision = limiter === undefined ? UNLIMITED : limiter(request)
  if (!(decision instanceof Promise)) apply(decision)
  else decision.then(apply).catch((error) => context.fail(error))
}

/** Denies, delays or forwards a request, as its rate limits decided. */
function applyDecision(
  context: RequestContext,
  request: GatewayRequestFacts,
  activeRoute: ActiveRoute,
  decision: RouteDecision,
): void {
  const { denial, headers, holdMs, release } = decision
  if (release !== undefined) context.releaseAtEnd(release)
  if (context.isOver) return
  if (denial !== undefined) context.deny(denial, headers)
  else if (holdMs > 0) {
    hold(context, holdMs, () => pass(context, request, activeRoute, headers))
  } else pass(context, request, activeRoute, headers)
}

/** Calls back after a delay, unless the client disconnects first. */
function hold(context: RequestContext, ms: number, callback: () => void): void {
  const timer = setTimeout(() => {
    context.response.off('close', cancel)
    try {
      callback()
    } catch (error) {
      context.fail(error)
    }
  }, ms)
  const cancel = () => clearTimeout(timer)
  context.response.once('close', cancel)
}

/** Forwards an allowed request, after applying the filters of its route. */
function pass(
  context: RequestContext,
  request: GatewayRequestFacts,
  activeRoute: ActiveRoute,
  rateLimitHeaders: Readonly<Record<string, string>>,
): void {
  const { message, response, routing, upgrade } = context
  const { bodyIdleMs, minBodyRate } = context.state
  const { route } = activeRoute
  const { fixedResponse, requestFilters, responseFilters } = route
  if (fixedResponse !== undefined) {
    const head: ResponseHead = {
      status: fixedResponse.status,
      headers: new Map(Object.entries({ ...rateLimitHeaders, ...fixedResponse.headers })),
    }
    for (const filter of responseFilters) filter(head, request)
    // Response filters cannot change the status: a redirect needs its 3xx.
    return void context.respond(fixedResponse.status, Object.fromEntries(head.headers), '')
  }
  const length = message.headers['content-length']
  // A fallback has no body: it has been sent to the upstream that failed.
  const withBody = context.fallbacks === 0 && hasBody(message)
  const budget = withBody ? route.budget?.begin(request) : undefined
  if (budget !== undefined && 'denial' in budget) return void context.deny(budget.denial!, budget.headers)
  const maxBodyBytes = smaller(route.maxBodyBytes, budget?.maxBodyBytes)
  if (maxBodyBytes !== undefined && Number(length) > maxBodyBytes) {
    return void context.reject(413, tooLarge(maxBodyBytes).message, rateLimitHeaders)
  }
  if (upgrade !== undefined && !route.webSocket) {
    return void context.reject(403, 'This route does not allow WebSockets.', rateLimitHeaders)
  }
  // Node does not parse the body of an upgrade request.
  if (upgrade !== undefined && withBody)
    return void context.reject(400, 'A WebSocket upgrade must not have a body.', rateLimitHeaders)

  let headers = headersToSend(message, request, route, routing.proxies, context.id)
  if (context.fallbacks > 0) headers = withoutBodyHeaders(headers)
  let { path, query } = request
  if (requestFilters.length > 0) {
    const toSend = forwardOf(request, headers)
    try {
      for (const filter of requestFilters) filter(toSend)
    } catch (error) {
      if (!(error instanceof NoCanonicalPath)) throw error
      return void context.reject(400, NO_CANONICAL_FORM, rateLimitHeaders)
    }
    headers = flatOf(toSend)
    path = toSend.path
    query = toSend.query
  }
  if (withBody && length !== undefined) headers.push('content-length', length)
  const releaseMemory = budget && holdMemory(context, request.ip, Number(length ?? budget.maxBodyBytes))
  if (budget !== undefined && releaseMemory === undefined) {
    return void context.reject(429, TOO_MANY_BODIES, { ...rateLimitHeaders, 'retry-after': '1' })
  }
  context.exchange = {
    context,
    message,
    response,
    request,
    activeRoute,
    rateLimitHeaders,
    target: query === '' ? path : `${path}?${query}`,
    headers,
    body: withBody
      ? new RequestBody(message, response, {
          maxBytes: maxBodyBytes,
          // One more than the largest body: a full buffer would pause before the end of the body arrives.
          bufferBytes: budget && budget.maxBodyBytes + 1,
          onBytes: budget?.readRequest,
          idleMs: bodyIdleMs,
          minRate: minBodyRate,
        })
      : undefined,
    budget,
    bodyIdleMs,
    upgrade,
    fallBack: fallbackOf(context, request, activeRoute, rateLimitHeaders),
    attempt: undefined,
    retries: 0,
    failovers: 0,
    failedUpstream: undefined,
    isClientGone: false,
    bytes: 0,
  }
  const { exchange } = context
  const { body } = exchange
  if (releaseMemory !== undefined) body?.once('close', releaseMemory)
  // A request takes a connection once its body has begun to arrive.
  if (body === undefined) forward(exchange)
  else if (budget !== undefined) forwardWithinBudget(context, exchange, body, budget)
  else body.whenBegun(() => forward(exchange))
}

/** Maximum number of successive fallbacks of a request, to stop loops. */
const MAX_FALLBACKS = 3

/** Returns a function that sends a failed request to the fallback of its route, without its body. WebSockets have none. */
function fallbackOf(
  context: RequestContext,
  failed: GatewayRequestFacts,
  { route }: ActiveRoute,
  headers: RouteDecision['headers'],
): (() => void) | undefined {
  const fallback = route.breaker?.fallback
  if (fallback === undefined || context.upgrade !== undefined) return undefined
  return () => {
    const { message, routing } = context
    context.endBudget('failed')
    context.fallbacks++
    const target = { path: fallback.path, query: failed.query }
    const request = new GatewayRequestFacts(message, target, failed.peer, routing.proxies, failed.timeMs)
    const activeRoute =
      context.fallbacks > MAX_FALLBACKS ? undefined : routing.findFallback(fallback, request)
    if (activeRoute === undefined)
      return void context.reject(
        503,
        'The upstream is unavailable, and no route matches its fallback.',
        headers,
      )
    discardBody(message, context.response)
    limit(context, request, activeRoute, headers)
  }
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
