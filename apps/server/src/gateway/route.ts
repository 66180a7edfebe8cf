import type { MaybePromise } from '@tidegate/core'
import type { Address, RequestFacts } from '@tidegate/http'

/*
 * A route as the gateway uses it: everything that can be found out before a request comes is found out, and what is
 * left is functions of a request. `config/` makes them of the file; `handle.ts` follows one.
 */

/** A request at the gateway, as predicates, keys and filters see it: canonical path, address through trusted proxies. */
export interface GatewayRequest extends RequestFacts {
  /** The client's address, whole; `ip` is what it is counted under. */
  readonly address: Address | undefined
  /** When it came. */
  readonly timeMs: number
}

export interface Route {
  readonly id: string
  /** Where requests go; none if the route answers by itself. */
  readonly upstreams: readonly string[]
  /** How each upstream is asked whether it is well; undefined: it is taken to be. */
  readonly healthCheck: HealthCheck | undefined
  /** All limits of the route in one decision; undefined: it has none. */
  readonly limit: ((request: GatewayRequest) => MaybePromise<Ruling>) | undefined
  /** What changes the request before it is sent on, in order. */
  readonly requestFilters: readonly RequestFilter[]
  /** What changes the response's status and headers before they are sent on, in order. */
  readonly responseFilters: readonly ResponseFilter[]
  /** Answers instead of any upstream. */
  readonly answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined
  readonly preserveHost: boolean
  /** The most bytes of a body; beyond it 413. Undefined: any number. */
  readonly maxBodyBytes: number | undefined
  readonly retry: Retry
  /** Whether `Upgrade: websocket` is let through. */
  readonly webSocket: boolean
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number }
}

/** What the limits of a route say of a request. */
export interface Ruling {
  /** What to answer instead of asking the upstream. */
  readonly refusal:
    | { readonly status: number; readonly contentType: string; readonly body: string }
    | undefined
  /** For the answer, whoever gives it. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** How long to hold the request first, so that requests leave at the leak rate. */
  readonly holdMs: number
}

/** The request that is sent on, as filters may change it. */
export interface Forward {
  readonly request: GatewayRequest
  /** Canonical; a filter that changes it leaves it so. */
  path: string
  /** Without the `?`. */
  query: string
  /** Names in lower case. */
  readonly headers: Map<string, string | string[]>
}

/** What a filter has made of a path has no canonical form: the request is answered with 400. */
export class NoCanonicalPath extends Error {}

export interface ResponseHead {
  status: number
  /** Names in lower case. */
  readonly headers: Map<string, string | string[]>
}

/** Throws `NoCanonicalPath` if what it makes of the path is not to be sent on. */
export type RequestFilter = (forward: Forward) => void
export type ResponseFilter = (head: ResponseHead, request: GatewayRequest) => void

/** When a request without a body is sent to another upstream, or again. */
export interface Retry {
  /** How often at most, beyond the first time. */
  readonly retries: number
  /** The same where its connection was lost. */
  readonly retriesIfLost: number
  /** Methods that are safe to send twice. */
  readonly methods: ReadonlySet<string>
  /** Answers that are as good as none. Lost connections and time-outs always are. */
  readonly isFailure: (status: number) => boolean
  readonly backoffMs: (attempt: number) => number
}

export interface HealthCheck {
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
}
