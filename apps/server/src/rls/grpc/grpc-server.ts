import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2Session,
  type ServerOptions,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import {
  type ConnectionCounts,
  clientOf,
  type GuardOptions,
  guardConnections,
  isLoopback,
} from '../../http/connection-guard.js'
import { connectionsOf, trackConnections } from '../../http/connection-tracker.js'
import type { RlsTls } from '../config/rls-config.js'
import { requestCodec, responseCodec } from '../service/codecs.js'
import { RlsError } from '../service/rls-error.js'
import type { RateLimitRequest, RateLimitResponse } from '../service/rls-messages.js'
import { type GrpcHealth, healthMethods } from './grpc-health.js'
import { decodeMessage } from './grpc-message.js'
import { GrpcError, STATUS } from './grpc-status.js'
import { type GrpcMethod, serveCall } from './serve-call.js'
import { createStreamGuard, MAX_STREAMS, type StreamCounts } from './stream-guard.js'

export interface GrpcServerOptions {
  readonly host: string
  readonly port: number
  readonly tls: RlsTls | undefined
  readonly guard: GuardOptions
  readonly health: GrpcHealth
  /** Connections without a response to a ping are closed. Default: a ping each minute, a response within 20 seconds. */
  readonly ping?: PingOptions
  /** For the request of a call to arrive, and for its response to be read. Default: 10 seconds. */
  readonly callTimeoutMs?: number
  shouldRateLimit(request: RateLimitRequest): Promise<RateLimitResponse>
  onError(error: unknown): void
}

interface PingOptions {
  readonly everyMs: number
  readonly timeoutMs: number
}

export interface GrpcServer {
  readonly host: string
  readonly port: number
  readonly connections: ConnectionCounts
  readonly streams: StreamCounts
  /** Finishes the calls in flight, for at most `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

/** Well above 1,000 descriptors of usual size. */
const MAX_REQUEST_BYTES = 256 * 1024
const CALL_TIMEOUT_MS = 10_000
const PING = { everyMs: 60_000, timeoutMs: 20_000 }
const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** Serves Envoy's rate limit service and gRPC health checks. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, tls, health, shouldRateLimit, onError, ping = PING, guard } = options
  const server = http2Server(tls)
  const sessions = new Set<Http2Session>()
  server.on('session', (session: Http2Session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    keepAlive(session, ping)
  })
  const streams = createStreamGuard(server, {
    clientOf: (socket) => (isLoopback(socket) ? undefined : clientOf(socket, guard)),
    maxMessageBytes: MAX_REQUEST_BYTES,
    timeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
  })
  const methods = new Map<string, GrpcMethod>([
    ...healthMethods(health),
    [SHOULD_RATE_LIMIT, { respond: (message) => respond(message, shouldRateLimit) }],
  ])
  server.on('stream', (stream, headers) => {
    const guarded = streams.guard(stream, headers)
    if (guarded !== undefined)
      serveCall(stream, headers, guarded, { methods, maxMessageBytes: MAX_REQUEST_BYTES, onError }).catch(
        onError,
      )
  })
  trackConnections(server)
  const connections = guardConnections(server, guard)
  server.listen(options.port, host)
  await once(server, 'listening')
  server.on('error', onError)

  return {
    host,
    port: (server.address() as AddressInfo).port,
    connections,
    streams: streams.counts,
    async close(timeoutMs) {
      const closed = new Promise((resolve) => server.close(resolve))
      // Sockets, because a closed session waits for its client to close the connection too.
      const timeout = setTimeout(() => {
        for (const socket of connectionsOf(server)) socket.destroy()
      }, timeoutMs)
      const all = [...sessions].map((session) => {
        const ended = once(session, 'close')
        session.close()
        return ended
      })
      await Promise.all(all)
      clearTimeout(timeout)
      // A client in a TLS handshake has no session.
      for (const socket of connectionsOf(server)) socket.destroy()
      await closed
    },
  }
}

function http2Server(tls: RlsTls | undefined): Http2Server | Http2SecureServer {
  const options: ServerOptions = {
    settings: { maxConcurrentStreams: MAX_STREAMS },
    // The guard of streams has a bound for all sessions.
    maxSessionMemory: 64,
  }
  if (tls === undefined) return createServer(options)
  const { clientCaFile } = tls
  return createSecureServer({
    ...options,
    key: readFileSync(tls.keyFile),
    cert: readFileSync(tls.certFile),
    ...(clientCaFile === undefined ? {} : { ca: readCertificates(clientCaFile), requestCert: true }),
  })
}

/** Throws if the file has no certificate: Node would start, and then reject every client. */
function readCertificates(file: string): string {
  const text = readFileSync(file, 'utf8')
  if (/-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/.test(text)) return text
  throw new Error(`clientCaFile of rls.tls must have a certificate, as PEM, got ${file}`)
}

/** Closes a session whose client does not respond to pings. */
function keepAlive(session: Http2Session, { everyMs, timeoutMs }: PingOptions): void {
  const timer = setInterval(() => {
    if (session.destroyed) return
    const timeout = setTimeout(() => session.destroy(), timeoutMs).unref()
    session.ping(() => clearTimeout(timeout))
  }, everyMs).unref()
  session.once('close', () => clearInterval(timer))
}

async function respond(
  message: Buffer,
  shouldRateLimit: GrpcServerOptions['shouldRateLimit'],
): Promise<Buffer> {
  const request = decodeMessage<RateLimitRequest>(requestCodec.decode, message)
  try {
    return responseCodec.encode(await shouldRateLimit(request))
  } catch (error) {
    if (!(error instanceof RlsError)) throw error
    const status = error.kind === 'invalid' ? STATUS.invalidArgument : STATUS.unavailable
    throw new GrpcError(status, error.message)
  }
}
