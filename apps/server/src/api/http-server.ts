import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Config } from '../config/config.js'
import { trackConnections } from '../http/connections.js'
import { sendTogether } from '../http/end-of-turn.js'
import { BAD_EXPECTATION, problemOf } from '../http/strict.js'
import type { Service } from '../service.js'
import { ApiError, errorBody } from './api-error.js'

/** More than any proxy in front needs. Beyond it, connections are closed at once, and those that are there are served. */
const MAX_CONNECTIONS = 10_000

/** Node's server, with limits to how large and how slow a request may be, and strict about what one is. */
export function createHttpServer(
  service: Service,
  { limits }: Config,
  idOf: (request: IncomingMessage) => string,
  listener: RequestListener,
): Server {
  const server = createServer(
    {
      // Refused below, in our own words.
      requireHostHeader: false,
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      // How late it may notice that a time-out has passed.
      connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
    },
    (request, response) => {
      const problem = problemOf(request)
      if (problem !== undefined) return refuse(new ApiError(400, problem), request, response)
      if (service.isStopping) response.setHeader('connection', 'close')
      listener(request, response)
    },
  )
  // Of many headers Node would drop those beyond a number, and with them perhaps the one that a proxy has added. How
  // many there can be is limited by how large they are.
  server.maxHeadersCount = 0
  server.maxConnections = MAX_CONNECTIONS
  trackConnections(server)
  server.on('connection', sendTogether)
  server.on('checkExpectation', (request, response) => {
    refuse(new ApiError(417, BAD_EXPECTATION), request, response)
  })
  return server

  function refuse(error: ApiError, request: IncomingMessage, response: ServerResponse): void {
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
