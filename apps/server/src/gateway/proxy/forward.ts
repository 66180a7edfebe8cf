import type { Dispatcher } from 'undici'
import { HttpError } from '../../http/http-error.js'
import { setAside } from '../upstreams/balancer.js'
import { CIRCUIT_OPEN, type Failure, failureOf, OVERLOAD } from '../upstreams/upstream-failure.js'
import { MAX_IN_FLIGHT, type Upstream } from '../upstreams/upstreams.js'
import { Attempt, type AttemptListener } from './attempt.js'
import type { Exchange } from './exchange.js'
import type { RequestBody } from './request-body.js'
import { connectionFor, type Upgrade } from './web-socket.js'

/** Sends a request to one of its upstreams, and to another if that fails and a retry is allowed. */
export function forward(exchange: Exchange): void {
  const { activeRoute, body, upgrade } = exchange
  if (body?.errored) return void rejectBody(exchange, body.errored)
  const upstream = activeRoute.balancer.next(exchange.failedUpstream)
  if (upstream === undefined && activeRoute.route.breaker !== undefined)
    return void giveUp(exchange, CIRCUIT_OPEN)
  if (upstream === undefined || isFull(upstream, upgrade)) return void giveUp(exchange, OVERLOAD)
  if (body === undefined || body.isWhole) send(exchange, upstream)
  else if (!body.isReadAhead && activeRoute.balancer.breakerOf(upstream)?.isHalfOpen === true)
    waitForBody(exchange, upstream, body)
  else waitForSlot(exchange, upstream, body)
}

/** Waits for the body of a trial request: a slow one would hold the trial of a half-open circuit breaker. */
function waitForBody(exchange: Exchange, upstream: Upstream, body: RequestBody): void {
  const { balancer, route } = exchange.activeRoute
  let isWaiting = true
  const end = () => {
    if (!isWaiting) return
    isWaiting = false
    clearTimeout(timer)
    const isTrial = balancer.breakerOf(upstream)?.isHalfOpen === true
    if (isTrial && !body.isReadAhead) giveUp(exchange, CIRCUIT_OPEN)
    else if (!exchange.isClientGone) forward(exchange)
  }
  const timer = setTimeout(end, route.timeouts.headersMs)
  body.whenReadAhead(end)
}

/** Waits until the upstream has a slot for an unfinished body, or the body is complete. */
function waitForSlot(exchange: Exchange, upstream: Upstream, body: RequestBody): void {
  const timer = setTimeout(() => {
    leave()
    giveUp(exchange, OVERLOAD)
  }, exchange.activeRoute.route.timeouts.headersMs)
  const leave = upstream.bodySlots.enter(body, () => {
    clearTimeout(timer)
    if (body.errored) rejectBody(exchange, body.errored)
    else send(exchange, upstream)
  })
}

/** Rejects a body that is too large or too slow. Other errors mean that the client has closed the connection. */
function rejectBody({ context, rateLimitHeaders }: Exchange, error: Error): void {
  if (error instanceof HttpError) context.reject(error.status, error.message, rateLimitHeaders)
}

function send(exchange: Exchange, upstream: Upstream): void {
  const { activeRoute, request, target, headers, body, upgrade } = exchange
  const { timeouts } = activeRoute.route
  const breaker = activeRoute.balancer.breakerOf(upstream)
  const trial = body === undefined || body.isWhole ? 'whole' : 'unfinished'
  // The breaker may have opened while the request waited for a connection.
  if (breaker?.enter(trial) === false) return void giveUp(exchange, CIRCUIT_OPEN)
  const attempt = new Attempt(exchange, upstream, listener, breaker, trial)
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
  // undici would keep the connection of this client, or reopen it after a disconnect.
  if (upgrade !== undefined) dispatcher.close().catch(() => {})
}

/** WebSockets count against the connection limit and do not queue, because they stay open. */
function isFull({ inFlight, tunnels, maxConnections }: Upstream, upgrade: Upgrade | undefined): boolean {
  return inFlight >= MAX_IN_FLIGHT || (upgrade !== undefined && tunnels >= maxConnections)
}

const listener: AttemptListener = {
  onFailure(exchange, { isSent, isQueueTimeout, upstream }, error) {
    if (exchange.isClientGone) return
    // Caused by the client: a body that is too large or too slow.
    if (error instanceof HttpError) {
      return void rejectBody(exchange, error)
    }
    const failure = failureOf(error, isSent)
    exchange.failedUpstream = upstream
    if (!isSent) setAside(upstream)
    if (!isSent && !isQueueTimeout) upstream.state.unreachable(error)
    if (exchange.response.headersSent) giveUp(exchange, failure)
    else if (!isSent && exchange.failovers + 1 < exchange.activeRoute.balancer.size) {
      // Nothing was sent, so every request may go to another upstream.
      exchange.activeRoute.meter.failures[failure.kind]++
      exchange.failovers++
      forward(exchange)
    } else if (mayRetry(exchange, failure.kind === 'lost')) {
      exchange.activeRoute.meter.failures[failure.kind]++
      retry(exchange)
    } else giveUp(exchange, failure)
  },
  shouldRetry(exchange, status) {
    return mayRetry(exchange, false) && exchange.activeRoute.route.retry.isFailure(status)
  },
  onRetry(exchange, { upstream }) {
    exchange.failedUpstream = upstream
    retry(exchange)
  },
  shouldFallBack({ activeRoute, fallBack }, status) {
    return fallBack !== undefined && activeRoute.route.breaker?.isFailure(status) === true
  },
  onFallBack: (exchange) => void tryFallback(exchange),
}

/** Only requests with a retryable method and without a body are retried. */
function mayRetry({ activeRoute, retries, body, request, upgrade }: Exchange, isLost: boolean): boolean {
  const { retry } = activeRoute.route
  // A WebSocket always has a new connection, so a loss is not caused by an idle one.
  const maximum = isLost && upgrade === undefined ? retry.retriesIfLost : retry.retries
  return retries < maximum && body === undefined && retry.methods.has(request.method)
}

function retry(exchange: Exchange): void {
  exchange.retries++
  const waitMs = exchange.activeRoute.route.retry.backoffMs(exchange.retries)
  setTimeout(() => {
    if (!exchange.isClientGone) forward(exchange)
  }, waitMs)
}

function giveUp(exchange: Exchange, { kind, status, message }: Failure): void {
  exchange.activeRoute.meter.failures[kind]++
  // undici does not destroy a body that it could not send.
  exchange.body?.destroy()
  if (tryFallback(exchange)) return
  exchange.context.reject(status, message, exchange.rateLimitHeaders)
}

/** Sends the request to its fallback, if it has one and the response has not begun. Returns whether it did. */
function tryFallback(exchange: Exchange): boolean {
  const { fallBack, response, isClientGone, body } = exchange
  if (fallBack === undefined || response.headersSent || isClientGone) return false
  exchange.fallBack = undefined
  body?.destroy()
  fallBack()
  return true
}
