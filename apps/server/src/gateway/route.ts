import type { MaybePromise, Policy } from '@tidegate/core'
import type { Address, RequestFacts, Rule, Template, Variables } from '@tidegate/http'

/*
 * A route as the proxy uses it. `config/` computes in advance what does not depend on the request; the rest are functions of a
 * request. `proxy/handle.ts` executes a route.
 */

/** The facts of a request for predicates, keys and filters, with the canonical path and the client's address. */
export interface GatewayRequest extends RequestFacts {
  /** The client's full address; `ip` is shortened to the IPv6 prefix. */
  readonly address: Address | undefined
  /** Arrival time. */
  readonly timeMs: number
}

export interface Route {
  readonly id: string
  /** URLs of the upstreams; empty if the route responds without one. */
  readonly upstreams: readonly string[]
  /** Undefined: upstreams are not probed, and count as healthy. */
  readonly healthCheck: HealthCheck | undefined
  /** Decides all rate limits of the route together; undefined if it has none. */
  readonly limiter: ((request: GatewayRequest) => MaybePromise<RouteDecision>) | undefined
  /** The token budgets of the route, charged by the size of a request and its response; undefined if it has none. */
  readonly budget: RouteBudget | undefined
  /** Applied to the request before it is forwarded, in order. */
  readonly requestFilters: readonly RequestFilter[]
  /** Applied to status and headers of the response, in order. */
  readonly responseFilters: readonly ResponseFilter[]
  /** A fixed response, sent without an upstream. */
  readonly fixedResponse:
    | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
    | undefined
  readonly preserveHost: boolean
  /** Larger bodies are rejected with 413. Undefined: no limit. */
  readonly maxBodyBytes: number | undefined
  readonly retry: Retry
  /** Undefined: failing upstreams keep getting requests. */
  readonly breaker?: RouteBreaker | undefined
  /** Whether WebSocket upgrades are allowed. */
  readonly webSocket: boolean
  readonly timeouts: { readonly connectMs: number; readonly headersMs: number; readonly bodyMs: number }
}

/** The decision of a route's rate limits about one request. */
export interface RouteDecision {
  /** The response to a denied request; undefined if the request is allowed. */
  readonly denial:
    | { readonly status: number; readonly contentType: string; readonly body: string }
    | undefined
  /** Rate limit headers of the response, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** How long to delay the request, so that requests are released at the leak rate. */
  readonly holdMs: number
  /** Frees the slots of the request once it has ended. Only the first call has an effect. Default: none are held. */
  readonly release?: (() => Promise<void>) | undefined
}

/** The tokens of one request to a model. */
export interface Usage {
  /** All input tokens, with those read from the prompt cache. */
  readonly input: number
  /** The input tokens that were read from the prompt cache. */
  readonly cached: number
  readonly output: number
}

/** A limit of model tokens, or of their cost. */
export interface TokenBudget {
  readonly policy: Policy
  readonly key: Template
  /** Whole units of the policy. */
  readonly costOf: (usage: Usage) => number
  /** The unit in the `RateLimit-Policy` header. */
  readonly unit: string
}

export interface TokenBudgets {
  readonly budgets: readonly TokenBudget[]
  /** The largest request body that is read. */
  readonly maxBodyBytes: number
}

/** All token budgets of a route, in one decision. */
export interface RouteBudget {
  /** Call it for a request with a body. Undefined: no budget counts the request. A decision: the request is rejected. */
  begin(request: GatewayRequest): RequestBudget | RouteDecision | undefined
}

/** The token budgets of one request, from its body to the end of its response. */
export interface RequestBudget {
  /** The largest request body that is read. */
  readonly maxBodyBytes: number
  /** Reads the request body as it arrives. */
  readRequest(bytes: Buffer): void
  /** Reserves the estimated cost, once the request body is complete. Adds to the headers of the route's other limits. */
  reserve(headers: RouteDecision['headers']): Promise<RouteDecision>
  /** Reads the response as it passes. */
  readHead(status: number, rawHeaders: readonly Buffer[]): void
  readResponse(bytes: Buffer): void
  /** Settles the reservation. Only the first call has an effect. */
  end(ending: ResponseEnding): Promise<void>
}

/**
 * `complete`: the whole response was sent. `cut-off`: the client or the upstream closed the connection before that.
 * `failed`: no upstream has received the request, or none has responded.
 */
export type ResponseEnding = 'complete' | 'cut-off' | 'failed'

/** The request to the upstream. Request filters may change it. */
export interface Forward {
  readonly request: GatewayRequest
  /** Always canonical, also after a filter has changed it. */
  path: string
  /** Without the `?`. */
  query: string
  /** Names in lower case. */
  readonly headers: Map<string, string | string[]>
}

/** A filter produced a path without a canonical form. The request is rejected with 400. */
export class NoCanonicalPath extends Error {}

export interface ResponseHead {
  status: number
  /** Names in lower case. */
  readonly headers: Map<string, string | string[]>
}

/** Throws `NoCanonicalPath` if the resulting path has no canonical form. */
export type RequestFilter = (forward: Forward) => void
export type ResponseFilter = (head: ResponseHead, request: GatewayRequest) => void

/** When a request without a body is retried. */
export interface Retry {
  /** Maximum number of retries. */
  readonly retries: number
  /** Maximum number of retries after a lost connection. */
  readonly retriesIfLost: number
  /** Methods that are safe to send twice. */
  readonly methods: ReadonlySet<string>
  /** Statuses that are retried. Lost connections and timeouts always are. */
  readonly isFailure: (status: number) => boolean
  readonly backoffMs: (attempt: number) => number
}

/** The options of a circuit breaker, with the names and defaults of Resilience4j. */
export interface BreakerSettings {
  /** Number of latest requests that are counted. */
  readonly slidingWindowSize: number
  /** The breaker does not open before this many requests. */
  readonly minimumNumberOfCalls: number
  /** Failures in percent at which the breaker opens. */
  readonly failureRateThreshold: number
  /** How long the breaker stays open. */
  readonly waitMs: number
  /** Number of trial requests while half-open. */
  readonly halfOpenCalls: number
}

/** The circuit breaker of a route: one for each of its upstreams. */
export interface RouteBreaker {
  readonly name: string
  readonly settings: BreakerSettings
  /** Whether a response with this status is a failure. */
  readonly isFailure: (status: number) => boolean
  /** The target of requests that failed or could not be sent. Undefined: they are rejected. */
  readonly fallback: RouteFallback | undefined
}

export interface RouteFallback {
  /** Replaces the path of the request. */
  readonly path: string
  /** Undefined: the route of the gateway that matches the path. */
  readonly route: Route | undefined
}

/** A condition on requests. A route matches if all its predicates do. */
export interface Predicate {
  readonly matches: (request: GatewayRequest) => boolean
  /** Names of the `{variables}` that the predicate extracts for filters. Default: none. */
  readonly names?: readonly string[]
  /** Values of the variables, for a matching request. */
  readonly variablesOf?: (request: GatewayRequest) => Variables
  /** Share of the requests of a group. The router draws a random number. */
  readonly weight?: Weight
}

export interface Weight {
  readonly group: string
  readonly weight: number
}

export interface RouteLimit {
  readonly policy: Policy
  readonly key: Template
  readonly cost: number
  /** The rule of the file that selects the requests to count. */
  readonly rule?: Rule
  /** The status for a request without a key. Undefined: it is not counted. */
  readonly emptyKeyStatus?: number
}

export interface RouteLimits {
  readonly limits: readonly RouteLimit[]
  /** The status of a denial. */
  readonly status: number
  readonly queue: boolean
}

export interface HealthCheck {
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
}
