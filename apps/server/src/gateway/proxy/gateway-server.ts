import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finalResponse, respondToBadHttp } from '../../http/bad-http.js'
import { trackConnections } from '../../http/connection-tracker.js'
import type { RequestLimits } from '../../http/request-limits.js'
import { isHttp2 } from './http2.js'
import { trackSessions } from './http2-sessions.js'
import { isWebSocket, type Upgrade } from './web-socket.js'

/** Maximum number of concurrent requests on one HTTP/2 connection. */
const MAX_STREAMS = 128

export interface ServerOptions {
  readonly limits: RequestLimits
  /** Undefined: plain HTTP. */
  readonly tls: Tls | undefined
}

export interface Tls {
  /** The private key, as PEM. */
  readonly key: string
  /** The certificate chain, as PEM. */
  readonly cert: string
  /** Whether clients may use HTTP/2. */
  readonly http2: boolean
}

type Listener = (message: IncomingMessage, response: ServerResponse, upgrade?: Upgrade) => void

/** Creates Node's server, as strict as that of the API, but without a timeout for bodies. */
export function createGatewayServer({ limits, tls }: ServerOptions, listener: Listener): Server {
  const http1 = {
    requireHostHeader: false,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(5000, limits.headersTimeoutMs),
  }
  const server =
    tls === undefined
      ? createServer({ ...http1, IncomingMessage: Message })
      : tls.http2
        ? createHttp2Server(tls, limits, http1)
        : createHttpsServer({ ...http1, IncomingMessage: Message, key: tls.key, cert: tls.cert })
  server.on('request', (message, response) => listener(message, response))
  // request-body.ts sends 100 Continue when the body is read.
  server.on('checkContinue', (message, response) => listener(message, response))
  // Node would respond itself, without a body and without metrics.
  server.on('checkExpectation', (message, response) => listener(message, response))
  server.on('upgrade', (message, socket, head) => {
    inTurn(socket, () => listener(message, responseOn(message, socket), { socket, head }))
  })
  server.on('connect', (message: IncomingMessage, where: Duplex | ServerResponse) => {
    if (isHttp2(message)) (where as ServerResponse).writeHead(405).end()
    else inTurn(where as Duplex, () => (where as Duplex).end(finalResponse(405, 'CONNECT is not supported.')))
  })
  server.on('clientError', respondToBadHttp)
  // Their size is limited instead, as in createHttpServer.
  server.maxHeadersCount = 0
  trackConnections(server)
  return server
}

/**
 * Node hands over the connection of every request with an Upgrade header, without reading its body. Only WebSockets
 * are handed over here; other upgrades are ignored and handled as requests (RFC 9110, 7.8).
 */
class Message extends IncomingMessage {
  private requested: boolean | null = null

  get upgrade(): boolean {
    return this.requested === true && (this.method === 'CONNECT' || isWebSocket(this))
  }

  set upgrade(requested: boolean | null) {
    this.requested = requested
  }
}

function createHttp2Server({ key, cert }: Tls, limits: RequestLimits, http1: object): Server {
  const server = createSecureServer({
    key,
    cert,
    allowHTTP1: true,
    Http1IncomingMessage: Message,
    // handle.ts rejects large headers with 431. Node counts 32 bytes more per header, resets the stream, and does not
    // enforce the size before the client has acknowledged the settings.
    maxHeaderListPairs: limits.maxHeaderBytes,
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 33 * limits.maxHeaderBytes },
  })
  trackSessions(server, Math.max(1000, limits.keepAliveTimeoutMs))
  // The HTTP/2 server does not accept these as options, but reads them as properties.
  return Object.assign(server, http1) as unknown as Server
}

/**
 * Calls back once earlier responses are finished, on a connection that Node has handed over. Also handles its errors, which
 * would end the process.
 */
function inTurn(socket: Duplex, callback: () => void): void {
  socket.on('error', () => socket.destroy())
  const next = () => {
    const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse | null }
    if (response != null) response.once('finish', next)
    else if (socket.writable) callback()
  }
  next()
}

/** Creates a response on a connection that Node has handed over. */
function responseOn(message: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(message)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  response.on('finish', () => {
    response.detachSocket(socket as Socket)
    ;(socket as Socket).destroySoon()
  })
  // Node no longer reads the socket, so disconnects must be detected here. A tunnel may be half closed.
  socket.on('end', () => {
    if (response.socket !== null) socket.destroy()
  })
  socket.read(0)
  return response
}
