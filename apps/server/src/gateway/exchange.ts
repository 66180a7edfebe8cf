import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteInForce } from './in-force.js'
import type { RequestBody } from './request-body.js'
import type { RequestFactsOf } from './request-facts.js'
import type { Flat } from './request-headers.js'
import type { Upstream } from './upstreams.js'
import type { Upgrade } from './web-socket.js'

/** A request that is being sent on, and its answer. */
export interface Exchange {
  readonly life: {
    becameTunnel(): void
    refuse(status: number, message: string, headers: Readonly<Record<string, string>>): void
  }
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly request: RequestFactsOf
  readonly inForce: RouteInForce
  /** What the limits say, for the answer. */
  readonly limits: Readonly<Record<string, string>>
  /** With the query. */
  readonly target: string
  readonly headers: Flat
  readonly body: RequestBody | undefined
  /** For how long the client may read nothing of an answer that waits for it. */
  readonly bodyIdleMs: number
  /** Wants to go on as a WebSocket. */
  readonly upgrade: Upgrade | undefined
  /** What is under way. */
  attempt: { cancel(): void } | undefined
  /** How often it was sent again. */
  retries: number
  /** How often it went on to another upstream because one could not be reached. */
  detours: number
  /** Where it has failed last. */
  failedAt: Upstream | undefined
  /** The client has gone: nobody is there to be answered. */
  isGone: boolean
  /** How much of the answer's body was sent. */
  bytes: number
}
