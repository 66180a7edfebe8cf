import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js'
import { quote } from '../../config-file/config-error.js'
import { healthRequestCodec, healthResponseCodec } from './codecs.js'

const SERVING = 1
const NOT_SERVING = 2
const SERVICE_UNKNOWN = 3
const NOT_FOUND = 5
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

interface HealthRequest {
  readonly service: string
}

interface WatchCall {
  readonly request: HealthRequest
  write(response: object): void
  on(event: 'cancelled' | 'close' | 'error', listener: () => void): void
}

/** `grpc.health.v1.Health` for `server.addService`. */
export function healthService(health: GrpcHealth): [ServiceDefinition, UntypedServiceImplementation] {
  const method = (name: string, responseStream: boolean) => ({
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: healthRequestCodec.encode,
    requestDeserialize: healthRequestCodec.decode,
    responseSerialize: healthResponseCodec.encode,
    responseDeserialize: healthResponseCodec.decode,
  })
  const statusNow = () => (health.isServing() ? SERVING : NOT_SERVING)
  return [
    { check: method('Check', false), watch: method('Watch', true) },
    {
      check(
        { request }: { request: HealthRequest },
        respond: (error: object | null, response?: object) => void,
      ) {
        if (NAMES.includes(request.service)) respond(null, { status: statusNow() })
        else
          respond({
            code: NOT_FOUND,
            details: `Unknown service ${quote(request.service)}; use ratelimit or an empty name.`,
          })
      },
      watch(call: WatchCall) {
        const isKnown = NAMES.includes(call.request.service)
        const send = () => call.write({ status: isKnown ? statusNow() : SERVICE_UNKNOWN })
        send()
        const stop = health.subscribe(send)
        for (const event of ['cancelled', 'close', 'error'] as const) call.on(event, stop)
      },
    } as UntypedServiceImplementation,
  ]
}
