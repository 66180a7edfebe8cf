import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Config } from '../config/config.js'
import { answerBadHttp, lastAnswer } from '../http/bad-http.js'
import { trackConnections } from '../http/connections.js'
import { isHttp2 } from './http2.js'
import { trackSessions } from './sessions.js'
import { isWebSocket, type Upgrade } from './web-socket.js'

/** How many requests one connection of HTTP/2 may have open. */
const MAX_STREAMS = 128

export interface ServerOptions {
  readonly limits: Omit<Config['limits'], 'responseTimeoutMs'>
  /** Undefined: plain HTTP. */
  readonly tls: Tls | undefined
}

export interface Tls {
  /** Both in PEM. */
  readonly key: string
  readonly cert: string
  /** Whether clients that can may use HTTP/2. */
  readonly http2: boolean
}

type Listener = (message: IncomingMessage, response: ServerResponse, upgrade?: Upgrade) => void

/** Node's server, as strict as that of the API, but with all the time in the world for a body. */
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
  // The go-ahead is given when the upstream wants the body: see request-body.ts.
  server.on('checkContinue', (message, response) => listener(message, response))
  // Node would answer it by itself, without a word and unseen.
  server.on('checkExpectation', (message, response) => listener(message, response))
  server.on('upgrade', (message, socket, head) => {
    inTurn(socket, () => listener(message, answerOn(message, socket), { socket, head }))
  })
  server.on('connect', (message: IncomingMessage, where: Duplex | ServerResponse) => {
    if (isHttp2(message)) (where as ServerResponse).writeHead(405).end()
    else inTurn(where as Duplex, () => (where as Duplex).end(lastAnswer(405, 'CONNECT is not passed on.')))
  })
  server.on('clientError', answerBadHttp)
  // See createHttpServer: how many headers there are is limited by how large they are.
  server.maxHeadersCount = 0
  trackConnections(server)
  return server
}

/**
 * A request to which Node asks whether its connection is to be handed over. It would be for an upgrade to anything, and the
 * body not be read. What is no WebSocket is a request like any other: a server may ignore the wish (RFC 9110, 7.8).
 */
class Message extends IncomingMessage {
  private asked: boolean | null = null

  get upgrade(): boolean {
    return this.asked === true && (this.method === 'CONNECT' || isWebSocket(this))
  }

  set upgrade(asked: boolean | null) {
    this.asked = asked
  }
}

function createHttp2Server(
  { key, cert }: Tls,
  limits: Omit<Config['limits'], 'responseTimeoutMs'>,
  http1: object,
): Server {
  const server = createSecureServer({
    key,
    cert,
    allowHTTP1: true,
    Http1IncomingMessage: Message,
    // What is too large is answered by handle.ts. Node would reset it without a word, counting 32 bytes more for each
    // header; and not the first on a connection, before the client has agreed to the settings.
    maxHeaderListPairs: limits.maxHeaderBytes,
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 33 * limits.maxHeaderBytes },
  })
  trackSessions(server, Math.max(1000, limits.keepAliveTimeoutMs))
  // As options it takes none of them. It has what we use of the other, if not its type.
  return Object.assign(server, http1) as unknown as Server
}

/**
 * Goes on with a connection that Node has handed over when what came on it before has been answered. Node listens to it
 * no more, and an error that nobody hears would end the process.
 */
function inTurn(socket: Duplex, goOn: () => void): void {
  socket.on('error', () => socket.destroy())
  const next = () => {
    const { _httpMessage: begun } = socket as { _httpMessage?: ServerResponse | null }
    if (begun != null) begun.once('finish', next)
    else if (socket.writable) goOn()
  }
  next()
}

/** What answers on a connection that Node has handed over. */
function answerOn(message: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(message)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  response.on('finish', () => {
    response.detachSocket(socket as Socket)
    ;(socket as Socket).destroySoon()
  })
  // Node reads it no more, and without reading nobody notices that the client has gone. A tunnel may end on one side.
  socket.on('end', () => {
    if (response.socket !== null) socket.destroy()
  })
  socket.read(0)
  return response
}
