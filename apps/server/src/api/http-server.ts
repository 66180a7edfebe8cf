import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { contains } from '@tidegate/http'
import type { Config } from '../config/config.js'
import { guardConnections } from '../http/connection-guard.js'
import { trackConnections } from '../http/connection-tracker.js'
import { sendTogether } from '../http/end-of-turn.js'
import { errorBody, HttpError } from '../http/http-error.js'
import { boundPipelining } from '../http/pipelining.js'
import { closeStalled } from '../http/stalled.js'
import { BAD_EXPECTATION, problemOf } from '../http/strict.js'
import { onceAMinute } from '../log/once-a-minute.js'
import type { DropReason } from '../metrics/api-metrics.js'
import type { Service } from '../service.js'

/** Connections beyond `connections.max` that only local clients, such as health checks, can open. */
const RESERVED_FOR_LOOPBACK = 16

/** Creates Node's server with strict parsing, and with limits for the size, time and memory of each client's requests. */
export function createHttpServer(
  service: Service,
  { limits, connections, proxies }: Config,
  idOf: (request: IncomingMessage) => string,
  listener: RequestListener,
): Server {
  const { apiMetrics, log } = service
  const logDrop = dropLogger(service)
  const pipelining = boundPipelining(() => logDrop('pipelining'))
  const server = createServer(
    {
      // Rejected below, with an error body.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      // Timeouts are detected with up to this delay.
      connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
    },
    (request, response) => {
      if (!pipelining.accept(request.socket, response)) return
      const { url = '' } = request
      response.once('close', () => {
        if (response.headersSent) apiMetrics.recordResponse(url, response.statusCode)
      })
      const problem = problemOf(request)
      if (problem !== undefined) return reject(new HttpError(400, problem), request, response)
      if (service.isStopping) response.setHeader('connection', 'close')
      listener(request, response)
    },
  )
  // Beyond a maximum number, Node drops headers, possibly those of a proxy. Their size is limited instead.
  server.maxHeadersCount = 0
  trackConnections(server)
  server.on('connection', sendTogether)
  const counts = guardConnections(server, {
    ...connections,
    listener: 'api',
    log,
    ipv6Prefix: proxies.ipv6Prefix,
    isProxy: (address) => proxies.trusted.some((range) => contains(range, address)),
    reservedForLoopback: RESERVED_FOR_LOOPBACK,
  })
  apiMetrics.setConnections(counts)
  closeStalled(server, limits.responseTimeoutMs, () => logDrop('stalled'))
  server.on('checkExpectation', (request, response) => {
    reject(new HttpError(417, BAD_EXPECTATION), request, response)
  })
  return server

  function reject(error: HttpError, request: IncomingMessage, response: ServerResponse): void {
    const body = JSON.stringify(errorBody(error))
    response.writeHead(error.status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'x-request-id': idOf(request),
      connection: 'close',
    })
    response.end(body)
    request.resume()
  }
}

const DROP_MESSAGES: Readonly<Record<DropReason, string>> = {
  pipelining: 'Connection closed: too many pipelined requests',
  stalled: 'Connection closed: the client did not read its responses',
}

/** Counts every drop, and logs at most one line a minute for each reason. */
function dropLogger({ apiMetrics, log }: Service): (reason: DropReason) => void {
  const isDue = onceAMinute<DropReason>()
  return (reason) => {
    apiMetrics.recordDrop(reason)
    if (isDue(reason)) log.warn({ reason }, DROP_MESSAGES[reason])
  }
}
