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
  /** Calls `onChange` at each change, and `onEnd` at the end. Returns a function that stops both. */
  subscribe(onChange: () => void, onEnd: () => void): () => void
  set(isServing: boolean): void
  /** The server stops: it is not serving, and watching ends. */
  end(): void
}

export function createGrpcHealth(): GrpcHealth {
  const watchers = new Set<{ onChange: () => void; onEnd: () => void }>()
  let isServing = true

  function set(serving: boolean): void {
    if (serving === isServing) return
    isServing = serving
    for (const { onChange } of watchers) onChange()
  }

  return {
    isServing: () => isServing,
    subscribe(onChange, onEnd) {
      const watcher = { onChange, onEnd }
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    set,
    end() {
      set(false)
      for (const { onEnd } of watchers) onEnd()
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
        stream(message, write, end) {
          const isKnown = NAMES.includes(nameIn(message))
          const send = () => write(response(isKnown ? statusNow() : SERVICE_UNKNOWN))
          send()
          return health.subscribe(send, end)
        },
      },
    ],
  ]
}
