import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Http2Server } from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import grpc from '@grpc/grpc-js'
import {
  type ConnectionCounts,
  clientOf,
  type GuardOptions,
  guardConnections,
  isLoopback,
} from '../../http/connection-guard.js'
import { connectionsOf, trackConnections } from '../../http/connection-tracker.js'
import type { RlsTls } from '../config/rls-config.js'
import { requestCodec, responseCodec } from './codecs.js'
import { type GrpcHealth, healthService } from './grpc-health.js'
import { RlsError } from './rls-error.js'
import type { RateLimitRequest, RateLimitResponse } from './rls-messages.js'
import { guardStreams, MAX_STREAMS, type StreamCounts } from './stream-guard.js'

export interface GrpcServerOptions {
  readonly host: string
  readonly port: number
  readonly tls: RlsTls | undefined
  readonly guard: GuardOptions
  readonly health: GrpcHealth
  /** Connections without a response to a ping are closed. Default: a ping each minute, a response within 20 seconds. */
  readonly ping?: { readonly everyMs: number; readonly timeoutMs: number }
  /** For the request of a call to arrive, and for its response to be read. Default: 10 seconds. */
  readonly callTimeoutMs?: number
  shouldRateLimit(request: RateLimitRequest): Promise<RateLimitResponse>
  onError(error: unknown): void
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

const { status, Server, ServerCredentials } = grpc

const RATE_LIMIT_SERVICE = {
  shouldRateLimit: {
    path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    requestStream: false,
    responseStream: false,
    requestSerialize: requestCodec.encode,
    // Decoded when the call is complete: a decoded message takes many times its bytes.
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: responseCodec.encode,
    responseDeserialize: responseCodec.decode,
  },
}

export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { host, tls, health, shouldRateLimit, onError, ping = PING, guard } = options
  const server = new Server({
    'grpc.max_receive_message_length': MAX_REQUEST_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS,
    'grpc.keepalive_time_ms': ping.everyMs,
    'grpc.keepalive_timeout_ms': ping.timeoutMs,
    // Channelz keeps statistics of every stream, which are not used here.
    'grpc.enable_channelz': 0,
  })
  server.addService(RATE_LIMIT_SERVICE, {
    shouldRateLimit(call: { request: Buffer }, respond: Respond) {
      const request = decode(call.request)
      if (request === undefined) return respond(MALFORMED)
      shouldRateLimit(request).then(
        (response) => respond(null, response),
        (error: unknown) => respond(grpcError(error)),
      )
    },
  })
  server.addService(...healthService(health))
  const { injectConnection } = server.createConnectionInjector(credentialsOf(tls))
  const streams = guardStreams(http2ServerOf(server), {
    clientOf: (socket) => (isLoopback(socket) ? undefined : clientOf(socket, guard)),
    maxMessageBytes: MAX_REQUEST_BYTES,
    timeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
  })
  // The listener of grpc-js cannot limit connections.
  const listener = createServer({ noDelay: true }, injectConnection)
  trackConnections(listener)
  const connections = guardConnections(listener, guard)
  listener.listen(options.port, host)
  await once(listener, 'listening')
  listener.on('error', onError)

  function grpcError(error: unknown): { code: number; details: string } {
    if (!(error instanceof RlsError)) {
      onError(error)
      return { code: status.INTERNAL, details: 'Internal error; see the log of the service.' }
    }
    const code = error.kind === 'invalid' ? status.INVALID_ARGUMENT : status.UNAVAILABLE
    return { code, details: error.message }
  }

  return {
    host,
    port: (listener.address() as AddressInfo).port,
    connections,
    streams,
    close(timeoutMs) {
      listener.close()
      return new Promise((resolve) => {
        const timeout = setTimeout(() => server.forceShutdown(), timeoutMs)
        server.tryShutdown(() => {
          clearTimeout(timeout)
          // The shutdown closes sessions, and a client in a TLS handshake has none.
          for (const socket of connectionsOf(listener)) socket.destroy()
          resolve()
        })
      })
    },
  }
}

type Respond = (error: { code: number; details: string } | null, response?: RateLimitResponse) => void

const MALFORMED = { code: status.INTERNAL, details: 'The message is malformed.' }

function decode(bytes: Buffer): RateLimitRequest | undefined {
  try {
    return requestCodec.decode(bytes) as RateLimitRequest
  } catch {
    return undefined
  }
}

/** grpc-js has no public property for the HTTP/2 server of a connection injector. */
function http2ServerOf(server: object): Http2Server {
  const { http2Servers } = server as { http2Servers: ReadonlyMap<Http2Server, unknown> }
  return http2Servers.keys().next().value!
}

function credentialsOf(tls: RlsTls | undefined) {
  if (tls === undefined) return ServerCredentials.createInsecure()
  const pair = { private_key: readFileSync(tls.keyFile), cert_chain: readFileSync(tls.certFile) }
  const { clientCaFile } = tls
  const ca = clientCaFile === undefined ? null : readFileSync(clientCaFile)
  return ServerCredentials.createSsl(ca, [pair], ca !== null)
}
