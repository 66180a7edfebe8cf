import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config/config.js'
import type { Service } from '../service.js'
import { ApiError, errorBody } from './api-error.js'

/** More than any proxy in front needs. Beyond it, connections are closed at once, and those that are there are served. */
const MAX_CONNECTIONS = 10_000

/** Node's server, with limits to how large and how slow a request may be, and strict about what one is. */
export function createHttpServer(service: Service, { limits }: Config, listener: RequestListener): Server {
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
      if (problem !== undefined) return refuse(problem, request, response)
      if (service.isStopping) response.setHeader('connection', 'close')
      listener(request, response)
    },
  )
  // Of many headers Node would drop those beyond a number, and with them perhaps the one that a proxy has added. How
  // many there can be is limited by how large they are.
  server.maxHeadersCount = 0
  server.maxConnections = MAX_CONNECTIONS
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  connections.set(server, sockets)
  return server
}

const connections = new WeakMap<Server, ReadonlySet<Socket>>()

/** Keeps no connection beyond the answer that is being made on it. */
export function closeAfterAnswers(server: Server): void {
  for (const socket of connections.get(server) ?? []) {
    // Node has no other way to know which answer is being made on a connection.
    const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse }
    if (answer != null) answer.shouldKeepAlive = false
  }
}

/** Closes what waits for a request: to Node, a connection that has not seen one yet is not idle. */
export function closeIdle(server: Server): void {
  server.closeIdleConnections()
  for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
}

/** What Node's parser lets through and we do not; a target with a host in it loses that. */
function problemOf(request: IncomingMessage): string | undefined {
  const { url = '', headers, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1) return 'The request line must end with HTTP/1.1.'
  const hosts = hostsIn(request.rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return 'There must be one Host header.'
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding !== 'chunked')
    return 'Transfer-Encoding must be chunked, if anything.'
  if (url.includes('#')) return 'The path must not have a #; write %23 for one.'
  if (url.charCodeAt(0) !== 0x2f) request.url = url.replace(/^https?:\/\/[^/?#]+\/?/i, '/')
  return undefined
}

/** Node would take the first, and others the last. */
function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') hosts++
  }
  return hosts
}

function refuse(message: string, request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(errorBody(new ApiError(400, message)))
  response.writeHead(400, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(body)
  request.resume()
}
