import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CorsHeaders } from '../cors/cors.js'
import type { GatewayRequestFacts } from '../request/request-facts.js'
import type { RequestBudget, ResponseEnding } from '../route.js'
import type { ActiveRoute } from '../routing/active-routes.js'
import type { Upstream } from '../upstreams/upstreams.js'
import type { RequestBody } from './request-body.js'
import type { Flat } from './request-headers.js'
import type { Upgrade } from './web-socket.js'

/** A request that is being forwarded, and its response. */
export interface Exchange {
  readonly context: {
    readonly corsHeaders: CorsHeaders | undefined
    endAsTunnel(upstreamSocket: Duplex): void
    reject(status: number, message: string, headers: Readonly<Record<string, string>>): void
    endBudget(ending: ResponseEnding): void
  }
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly request: GatewayRequestFacts
  readonly activeRoute: ActiveRoute
  /** Rate limit headers for the response. */
  rateLimitHeaders: Readonly<Record<string, string>>
  /** With the query. */
  readonly target: string
  readonly headers: Flat
  readonly body: RequestBody | undefined
  /** The token budgets that count the request; undefined if there are none. */
  readonly budget: RequestBudget | undefined
  /** How long the client may pause reading a pending response. */
  readonly bodyIdleMs: number
  /** Set for a WebSocket upgrade. */
  readonly upgrade: Upgrade | undefined
  /** Sends the request to its fallback instead, once; undefined if it has none. */
  fallBack: (() => void) | undefined
  /** The current attempt. */
  attempt: { readonly isSent: boolean; cancel(): void } | undefined
  /** Number of retries so far. */
  retries: number
  /** Number of times the request moved on from an unreachable upstream. */
  failovers: number
  /** The upstream of the last failed attempt. */
  failedUpstream: Upstream | undefined
  /** Whether the client has disconnected. */
  isClientGone: boolean
  /** Bytes of the response body sent so far. */
  bytes: number
}
