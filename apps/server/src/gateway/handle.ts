import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { canonicalPath } from '@tidegate/http'
import { HEADERS_TOO_LARGE } from '../http/bad-http.js'
import { atEndOfTurn } from '../http/end-of-turn.js'
import { BAD_EXPECTATION, hasBadExpectation, problemOf } from '../http/strict.js'
import { forward } from './forward.js'
import { headerBytesOf, isHttp2, problemOfHttp2 } from './http2.js'
import type { RouteInForce } from './in-force.js'
import { type Handling, Life } from './life.js'
import { hasBody, RequestBody, tooLarge } from './request-body.js'
import { RequestFactsOf } from './request-facts.js'
import { flatOf, forwardOf, headersToSend, isLoop } from './request-headers.js'
import { NoCanonicalPath, type ResponseHead, type Ruling } from './route.js'
import type { Upgrade } from './web-socket.js'

const UNLIMITED: Ruling = { refusal: undefined, headers: {}, holdMs: 0 }
const NO_CANONICAL_FORM = 'The path has no canonical form; write it without odd escapes.'

/** One request: what it is, which route it takes, what the limits say, and then on to the upstream. */
export function handle(
  handling: Handling,
  message: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
): void {
  // It came before the one before it was answered. Done at once, a POST might overtake another.
  if (response.socket === null) {
    waitForTurn(message.socket, response, () => handle(handling, message, response, upgrade))
    return
  }
  const life = new Life(handling, message, response, upgrade)
  if (handling.isStopping) response.shouldKeepAlive = false
  try {
    begin(life)
  } catch (error) {
    life.failed(error)
  }
}

/** How many may wait on one connection: Node reads on as long as nothing is answered, and each takes memory. */
const MAX_WAITING = 100
const waiting = new WeakMap<Socket, number>()

function waitForTurn(socket: Socket, response: ServerResponse, goOn: () => void): void {
  const count = (waiting.get(socket) ?? 0) + 1
  // What is left of a piece that Node has read still comes.
  if (count > MAX_WAITING || socket.destroyed) return void socket.destroy()
  waiting.set(socket, count)
  response.once('socket', () => {
    waiting.set(socket, waiting.get(socket)! - 1)
    goOn()
  })
}

function begin(life: Life): void {
  const { message, response, routing, handling } = life
  if (isHttp2(message) && headerBytesOf(message) > handling.maxHeaderBytes) {
    return void life.refuse(431, HEADERS_TOO_LARGE)
  }
  const problem = isHttp2(message) ? problemOfHttp2(message) : problemOf(message)
  if (problem !== undefined) {
    response.shouldKeepAlive = false
    return void life.refuse(400, problem)
  }
  if (hasBadExpectation(message)) return void life.refuse(417, BAD_EXPECTATION)
  const target = canonicalPath(message.url ?? '')
  if (target === undefined) return void life.refuse(400, NO_CANONICAL_FORM)
  if (message.method === 'TRACE') return void life.refuse(405, 'TRACE is not passed on.')
  if (isLoop(message))
    return void life.refuse(508, 'This has come through here too often: an upstream leads back.')
  const peer = routing.peerOf(message.socket)
  const request = new RequestFactsOf(message, target, peer, routing.proxies, Date.now())
  life.request = request
  const inForce = routing.find(request)
  if (inForce === undefined) return void life.refuse(404, 'No route is for this.')
  life.inForce = inForce
  const { limit } = inForce.route
  const ruling = limit === undefined ? UNLIMITED : limit(request)
  if (!(ruling instanceof Promise)) obey(life, request, inForce, ruling)
  else ruling.then((ruling) => obey(life, request, inForce, ruling)).catch((error) => life.failed(error))
}

/** Does what the limits say: refuses it, holds it, or lets it pass. */
function obey(life: Life, request: RequestFactsOf, inForce: RouteInForce, ruling: Ruling): void {
  if (life.isOver) return
  const { refusal, headers, holdMs } = ruling
  if (refusal !== undefined) {
    const { status, contentType, body } = refusal
    atEndOfTurn(
      () => {
        if (!life.isOver) life.answer(status, { ...headers, 'content-type': contentType }, body)
      },
      (error) => life.failed(error),
    )
  } else if (holdMs > 0) {
    hold(life, holdMs, () => pass(life, request, inForce, headers))
  } else pass(life, request, inForce, headers)
}

/** Goes on after so long. If the client hangs up before, never. */
function hold(life: Life, ms: number, goOn: () => void): void {
  const timer = setTimeout(() => {
    life.response.off('close', letGo)
    try {
      goOn()
    } catch (error) {
      life.failed(error)
    }
  }, ms)
  const letGo = () => clearTimeout(timer)
  life.response.once('close', letGo)
}

/** Sends on what the limits have let through, changed as the route says. */
function pass(
  life: Life,
  request: RequestFactsOf,
  inForce: RouteInForce,
  limits: Readonly<Record<string, string>>,
): void {
  const { message, response, routing, upgrade } = life
  const { bodyIdleMs, minBodyRate } = life.handling
  const { route } = inForce
  const { answer, maxBodyBytes, requestFilters, responseFilters } = route
  if (answer !== undefined) {
    const head: ResponseHead = {
      status: answer.status,
      headers: new Map(Object.entries({ ...limits, ...answer.headers })),
    }
    for (const filter of responseFilters) filter(head, request)
    // Not the status of the head: a redirection with another one would be none.
    return void life.answer(answer.status, Object.fromEntries(head.headers), '')
  }
  const length = message.headers['content-length']
  if (maxBodyBytes !== undefined && Number(length) > maxBodyBytes) {
    return void life.refuse(413, tooLarge(maxBodyBytes).message, limits)
  }
  const withBody = hasBody(message)
  if (upgrade !== undefined && !route.webSocket) {
    return void life.refuse(403, 'This route does not let WebSockets through.', limits)
  }
  // Node has not read it, and where it ends we do not know.
  if (upgrade !== undefined && withBody) return void life.refuse(400, 'An upgrade must have no body.', limits)

  let headers = headersToSend(message, request, route, routing.proxies, life.id)
  let { path, query } = request
  if (requestFilters.length > 0) {
    const toSend = forwardOf(request, headers)
    try {
      for (const filter of requestFilters) filter(toSend)
    } catch (error) {
      if (!(error instanceof NoCanonicalPath)) throw error
      return void life.refuse(400, NO_CANONICAL_FORM, limits)
    }
    headers = flatOf(toSend)
    path = toSend.path
    query = toSend.query
  }
  if (withBody && length !== undefined) headers.push('content-length', length)
  life.exchange = {
    life,
    message,
    response,
    request,
    inForce,
    limits,
    target: query === '' ? path : `${path}?${query}`,
    headers,
    body: withBody
      ? new RequestBody(message, response, {
          maxBytes: maxBodyBytes,
          idleMs: bodyIdleMs,
          minRate: minBodyRate,
        })
      : undefined,
    bodyIdleMs,
    upgrade,
    attempt: undefined,
    retries: 0,
    detours: 0,
    failedAt: undefined,
    isGone: false,
    bytes: 0,
  }
  const { exchange } = life
  // A connection to the upstream is taken only once there is something to send on it.
  if (exchange.body === undefined) forward(exchange)
  else exchange.body.whenBegun(() => forward(exchange))
}
