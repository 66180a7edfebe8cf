import type { Dispatcher } from 'undici'
import { ApiError } from '../api/api-error.js'
import { Attempt, type Outcome } from './attempt.js'
import { putAside } from './balancer.js'
import type { Exchange } from './exchange.js'
import { type Failure, failureOf, OVERLOAD } from './failure.js'
import type { RequestBody } from './request-body.js'
import { MAX_IN_FLIGHT, type Upstream } from './upstreams.js'
import { connectionFor, type Upgrade } from './web-socket.js'

/** Sends a request to one of its upstreams, and to another if that fails and it may. */
export function forward(exchange: Exchange): void {
  const { inForce, body, upgrade } = exchange
  if (body?.errored) return void rejectBody(exchange, body.errored)
  const upstream = inForce.balancer.next(exchange.failedAt)
  if (upstream === undefined || isFull(upstream, upgrade)) return void giveUp(exchange, OVERLOAD)
  if (body === undefined || body.isWhole) send(exchange, upstream)
  else waitForSlot(exchange, upstream, body)
}

/** Waits until the upstream has a connection for an unfinished body, or the body is whole. */
function waitForSlot(exchange: Exchange, upstream: Upstream, body: RequestBody): void {
  const timer = setTimeout(() => {
    leave()
    giveUp(exchange, OVERLOAD)
  }, exchange.inForce.route.timeouts.headersMs)
  const leave = upstream.bodySlots.enter(body, () => {
    clearTimeout(timer)
    if (body.errored) rejectBody(exchange, body.errored)
    else send(exchange, upstream)
  })
}

/** Rejects a body that is too large or too slow. Other errors mean that the client has closed the connection. */
function rejectBody({ life, limits }: Exchange, error: Error): void {
  if (error instanceof ApiError) life.refuse(error.status, error.message, limits)
}

function send(exchange: Exchange, upstream: Upstream): void {
  const { inForce, request, target, headers, body, upgrade } = exchange
  const { timeouts } = inForce.route
  const attempt = new Attempt(exchange, upstream, outcome)
  exchange.attempt = attempt
  const dispatcher = upgrade === undefined ? upstream.pool : connectionFor(upstream, timeouts.connectMs)
  dispatcher.dispatch(
    {
      path: target,
      method: request.method as 'GET',
      headers: headers as string[],
      body: body ?? null,
      upgrade: upgrade === undefined ? null : 'websocket',
      headersTimeout: timeouts.headersMs,
      bodyTimeout: timeouts.bodyMs,
      servername: upstream.serverName,
    } as Dispatcher.DispatchOptions,
    attempt,
  )
  // For this one alone: it would be kept for a while, or even opened anew if the client has gone.
  if (upgrade !== undefined) dispatcher.close().catch(() => {})
}

/** WebSockets are no more than connections may be: they do not wait for one, and stay. */
function isFull({ inFlight, tunnels, maxConnections }: Upstream, upgrade: Upgrade | undefined): boolean {
  return inFlight >= MAX_IN_FLIGHT || (upgrade !== undefined && tunnels >= maxConnections)
}

const outcome: Outcome = {
  failed(exchange, { isSent, isTimedOutInLine, upstream }, error) {
    if (exchange.isGone) return
    // The client's doing: a body that is too large or too slow.
    if (error instanceof ApiError) {
      return void rejectBody(exchange, error)
    }
    const failure = failureOf(error, isSent)
    exchange.failedAt = upstream
    if (!isSent) putAside(upstream)
    if (!isSent && !isTimedOutInLine) upstream.state.unreachable(error)
    if (exchange.response.headersSent) giveUp(exchange, failure)
    else if (!isSent && exchange.detours + 1 < exchange.inForce.balancer.size) {
      // Nothing was sent, so this is no second time: any request may go elsewhere.
      exchange.inForce.meter.failures[failure.kind]++
      exchange.detours++
      forward(exchange)
    } else if (mayRetry(exchange, failure.kind === 'lost')) {
      exchange.inForce.meter.failures[failure.kind]++
      retry(exchange)
    } else giveUp(exchange, failure)
  },
  isFailure(exchange, status) {
    return mayRetry(exchange, false) && exchange.inForce.route.retry.isFailure(status)
  },
  again(exchange, { upstream }) {
    exchange.failedAt = upstream
    retry(exchange)
  },
}

/** Only what is safe to send twice, and has no body that would have to be sent twice. */
function mayRetry({ inForce, retries, body, request, upgrade }: Exchange, isLost: boolean): boolean {
  const { retry } = inForce.route
  // A WebSocket has a connection of its own, which was not kept from before.
  const most = isLost && upgrade === undefined ? retry.retriesIfLost : retry.retries
  return retries < most && body === undefined && retry.methods.has(request.method)
}

function retry(exchange: Exchange): void {
  exchange.retries++
  const waitMs = exchange.inForce.route.retry.backoffMs(exchange.retries)
  setTimeout(() => {
    if (!exchange.isGone) forward(exchange)
  }, waitMs)
}

function giveUp(exchange: Exchange, { kind, status, message }: Failure): void {
  exchange.inForce.meter.failures[kind]++
  // Nobody reads it any more, and undici lets go of one that it could not send.
  exchange.body?.destroy()
  exchange.life.refuse(status, message, exchange.limits)
}
