import { quote } from '../../config-file/config-error.js'
import { healthRequestCodec, healthResponseCodec } from '../service/codecs.js'
import { decodeMessage } from './grpc-message.js'
import { GrpcError, STATUS } from './grpc-status.js'
import type { GrpcMethod } from './serve-call.js'

const SERVING = 1
const NOT_SERVING = 2
const SERVICE_UNKNOWN = 3
/** Service names in requests of Envoy and of probes; the empty name is the server as a whole. */
const NAMES = ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService']

export interface GrpcHealth {
  isServing(): boolean
  /** Calls the listener at each change. Returns a function that stops it. */
  subscribe(listener: () => void): () => void
  set(isServing: boolean): void
}

export function createGrpcHealth(): GrpcHealth {
  const listeners = new Set<() => void>()
  let isServing = true
  return {
    isServing: () => isServing,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    set(serving) {
      if (serving === isServing) return
      isServing = serving
      for (const listener of listeners) listener()
    },
  }
}

/** The methods of `grpc.health.v1.Health`. */
export function healthMethods(health: GrpcHealth): [path: string, method: GrpcMethod][] {
  const nameIn = (message: Buffer) =>
    decodeMessage<{ service: string }>(healthRequestCodec.decode, message).service
  const statusNow = () => (health.isServing() ? SERVING : NOT_SERVING)
  const response = (status: number) => healthResponseCodec.encode({ status })
  return [
    [
      '/grpc.health.v1.Health/Check',
      {
        async respond(message) {
          const name = nameIn(message)
          if (NAMES.includes(name)) return response(statusNow())
          throw new GrpcError(
            STATUS.notFound,
            `Unknown service ${quote(name)}; use ratelimit or an empty name.`,
          )
        },
      },
    ],
    [
      '/grpc.health.v1.Health/Watch',
      {
        stream(message, write) {
          const isKnown = NAMES.includes(nameIn(message))
          const send = () => write(response(isKnown ? statusNow() : SERVICE_UNKNOWN))
          send()
          return health.subscribe(send)
        },
      },
    ],
  ]
}
