import type { IncomingMessage, ServerResponse } from 'node:http'
import { canonicalPath, formatAddress } from '@tidegate/http'
import { problemOf } from '../http/strict.js'
import type { AccessLog, Ended } from './access-log.js'
import { discardBody } from './discard-body.js'
import type { Exchange } from './exchange.js'
import { forward } from './forward.js'
import { isHttp2, problemOfHttp2 } from './http2.js'
import type { RouteInForce, RoutingInForce } from './in-force.js'
import { countRequest } from './meters.js'
import { answer, answerProblem } from './problem.js'
import { bodyOf, hasBody, tooLarge } from './request-body.js'
import { RequestFactsOf } from './request-facts.js'
import { flatOf, forwardOf, headersToSend } from './request-headers.js'
import { NoCanonicalPath, type Ruling } from './route.js'
import { isWebSocket, type Upgrade } from './web-socket.js'

/** What every request needs to know. */
export interface Handling {
  /** Replaced as a whole when the configuration changes. */
  routing: RoutingInForce
  readonly idOf: (message: IncomingMessage) => string
  readonly bodyIdleMs: number
  readonly accessLog: AccessLog | undefined
  /** What failed though nothing should have. */
  readonly onError: (error: unknown) => void
  /** Whether it is being stopped: connections are no longer kept. */
  isStopping: boolean
}

/** One request, from its headers to the end of its answer. */
export function handle(
  handling: Handling,
  message: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
): void {
  // It came before the one before it was answered. Done at once, a POST might overtake another.
  if (response.socket === null) {
    response.once('socket', () => handle(handling, message, response, upgrade))
    return
  }
  const { routing } = handling
  const startMs = performance.now()
  const life: Life = {
    message,
    response,
    id: handling.idOf(message),
    request: undefined,
    inForce: undefined,
    exchange: undefined,
    bytes: 0,
    isOver: false,
    ended(status) {
      const seconds = (performance.now() - startMs) / 1000
      countRequest((life.inForce ?? routing).meter, status, seconds)
      handling.accessLog?.(endedOf(life, status, seconds))
      routing.leave()
    },
  }
  routing.enter()
  response.once('close', () => {
    life.isOver = true
    if (life.exchange !== undefined && !response.writableEnded) {
      life.exchange.isGone = true
      life.exchange.attempt?.cancel()
    }
    life.ended(response.headersSent ? response.statusCode : 0)
  })
  if (handling.isStopping) response.shouldKeepAlive = false

  const problem = isHttp2(message) ? problemOfHttp2(message) : problemOf(message)
  if (problem !== undefined) {
    response.shouldKeepAlive = false
    return void refuse(life, 400, problem)
  }
  const target = canonicalPath(message.url ?? '')
  if (target === undefined) return void refuse(life, 400, NO_CANONICAL_FORM)
  if (message.method === 'TRACE') return void refuse(life, 405, 'TRACE is not passed on.')
  const peer = routing.peerOf(message.socket)
  const request = new RequestFactsOf(message, target, peer, routing.proxies, Date.now())
  life.request = request
  const inForce = routing.find(request)
  if (inForce === undefined) return void refuse(life, 404, 'No route is for this.')
  life.inForce = inForce

  const ruled = (ruling: Ruling) => {
    if (life.isOver) return
    const { refusal, headers, holdMs } = ruling
    if (refusal !== undefined) {
      const { status, contentType, body } = refusal
      return void refuseAs(life, status, { ...headers, 'content-type': contentType }, body)
    }
    const go = () => pass(handling, life, request, inForce, ruling, upgrade)
    if (holdMs > 0) hold(holdMs, response, () => orFail(go))
    else go()
  }
  const failed = (error: unknown) => {
    handling.onError(error)
    refuse(life, 500, 'Something is wrong with the gateway; its log says what.')
  }
  const orFail = (go: () => void) => {
    try {
      go()
    } catch (error) {
      failed(error)
    }
  }
  orFail(() => {
    const { limit } = inForce.route
    const ruling = limit === undefined ? UNLIMITED : limit(request)
    if (ruling instanceof Promise) ruling.then(ruled).catch(failed)
    else ruled(ruling)
  })
}

/** What is known of a request while it lives. */
interface Life {
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  request: RequestFactsOf | undefined
  inForce: RouteInForce | undefined
  exchange: Exchange | undefined
  /** Of an answer in our own words. */
  bytes: number
  /** Answered, or given up by the client. */
  isOver: boolean
  ended(status: number): void
}

function endedOf(
  { message, id, request, inForce, exchange, bytes }: Life,
  status: number,
  seconds: number,
): Ended {
  const address = request?.address
  return {
    message,
    id,
    route: inForce?.route.id,
    address: address === undefined ? undefined : formatAddress(address),
    status,
    bytes: bytes + (exchange?.bytes ?? 0),
    timeMs: request?.timeMs ?? Date.now(),
    seconds,
  }
}

const NO_CANONICAL_FORM = 'The path has no canonical form; write it without odd escapes.'
const UNLIMITED: Ruling = { refusal: undefined, headers: {}, holdMs: 0 }

/** What the limits have let through. */
function pass(
  { routing, bodyIdleMs }: Handling,
  life: Life,
  request: RequestFactsOf,
  inForce: RouteInForce,
  { headers: limits }: Ruling,
  upgrade: Upgrade | undefined,
): void {
  const { message, response } = life
  const { route } = inForce
  if (route.answer !== undefined) {
    return void refuseAs(life, route.answer.status, { ...limits, ...route.answer.headers }, '')
  }
  const withBody = hasBody(message)
  const length = message.headers['content-length']
  if (route.maxBodyBytes !== undefined && Number(length) > route.maxBodyBytes) {
    return void refuse(life, 413, tooLarge(route.maxBodyBytes).message, limits)
  }
  let headers = headersToSend(message, request, route, routing.proxies, life.id)
  let { path, query } = request
  if (route.requestFilters.length > 0) {
    const toSend = forwardOf(request, headers)
    try {
      for (const filter of route.requestFilters) filter(toSend)
    } catch (error) {
      if (!(error instanceof NoCanonicalPath)) throw error
      return void refuse(life, 400, NO_CANONICAL_FORM, limits)
    }
    headers = flatOf(toSend)
    path = toSend.path
    query = toSend.query
  }
  const target = query === '' ? path : `${path}?${query}`
  if (upgrade !== undefined && isWebSocket(message)) {
    if (!route.webSocket) return void refuse(life, 403, 'This route does not let WebSockets through.', limits)
  } else if (upgrade !== undefined && withBody) {
    // Node has not read it, and where it ends we do not know.
    return void refuse(life, 400, 'A request with a body cannot become something else.', limits)
  }
  if (withBody && length !== undefined) headers.push('content-length', length)
  const body = withBody
    ? bodyOf(message, response, { maxBytes: route.maxBodyBytes, idleMs: bodyIdleMs })
    : undefined
  life.exchange = {
    message,
    response,
    request,
    inForce,
    limits,
    target,
    headers,
    body,
    upgrade: upgrade !== undefined && isWebSocket(message) ? upgrade : undefined,
    attempt: undefined,
    retries: 0,
    detours: 0,
    failedAt: undefined,
    isGone: false,
    bytes: 0,
    becameTunnel: () => life.ended(101),
  }
  forward(life.exchange)
}

/** Goes on after so long. If the client hangs up before, never. */
function hold(ms: number, response: ServerResponse, go: () => void): void {
  const timer = setTimeout(() => {
    response.off('close', letGo)
    go()
  }, ms)
  const letGo = () => clearTimeout(timer)
  response.once('close', letGo)
}

function refuse(
  life: Life,
  status: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
): void {
  discardBody(life.message, life.response)
  life.bytes = answerProblem(life.response, status, message, { ...headers, 'x-request-id': life.id })
}

function refuseAs(life: Life, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  discardBody(life.message, life.response)
  life.bytes = answer(life.response, status, { ...headers, 'x-request-id': life.id }, body)
}
