import type { IncomingMessage, ServerResponse } from 'node:http'
import { formatAddress } from '@tidegate/http'
import type { AccessLog, Ended } from './access-log.js'
import { watchDelivery } from './delivery.js'
import { discardBody } from './discard-body.js'
import type { Exchange } from './exchange.js'
import type { RouteInForce, RoutingInForce } from './in-force.js'
import { countRequest } from './meters.js'
import { answer, answerProblem } from './problem.js'
import type { RequestFactsOf } from './request-facts.js'
import type { Upgrade } from './web-socket.js'

/** What every request needs to know. */
export interface Handling {
  /** Replaced as a whole when the configuration changes. */
  routing: RoutingInForce
  readonly idOf: (message: IncomingMessage) => string
  readonly bodyIdleMs: number
  /** Bytes per second; 0: any. */
  readonly minBodyRate: number
  /** Of HTTP/2, where Node does not see to it. */
  readonly maxHeaderBytes: number
  readonly accessLog: AccessLog | undefined
  /** What failed though nothing should have. */
  readonly onError: (error: unknown) => void
  /** Whether it is being stopped: connections are no longer kept. */
  isStopping: boolean
}

type Headers = Readonly<Record<string, string | string[]>>

/** One request from its headers to the end of its answer, and what is known of it by and by. */
export class Life {
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade: Upgrade | undefined
  readonly handling: Handling
  /** The one that was in force when it came. */
  readonly routing: RoutingInForce
  readonly id: string
  request: RequestFactsOf | undefined
  inForce: RouteInForce | undefined
  exchange: Exchange | undefined
  /** Answered, or given up by the client. */
  isOver = false
  private readonly startMs: number
  /** Of an answer in our own words. */
  private bytes = 0

  constructor(
    handling: Handling,
    message: IncomingMessage,
    response: ServerResponse,
    upgrade: Upgrade | undefined,
  ) {
    this.startMs = performance.now()
    this.message = message
    this.response = response
    this.upgrade = upgrade
    this.handling = handling
    this.routing = handling.routing
    this.id = handling.idOf(message)
    this.routing.enter()
    response.on('close', () => this.closed())
  }

  /** Answers with a problem of the client's, or ours. */
  refuse(status: number, message: string, headers?: Headers): void {
    discardBody(this.message, this.response)
    this.bytes = answerProblem(this.response, status, message, { ...headers, 'x-request-id': this.id })
    watchDelivery(this.response, this.handling.bodyIdleMs)
  }

  /** Answers by itself. */
  answer(status: number, headers: Headers, body: string): void {
    discardBody(this.message, this.response)
    this.bytes = answer(this.response, status, { ...headers, 'x-request-id': this.id }, body)
    watchDelivery(this.response, this.handling.bodyIdleMs)
  }

  failed(error: unknown): void {
    this.handling.onError(error)
    if (!this.isOver) this.refuse(500, 'Something is wrong with the gateway; its log says what.')
  }

  /** It is a WebSocket from now on, and as a request it has ended. */
  becameTunnel(): void {
    this.ended(101)
  }

  private closed(): void {
    const { exchange, response } = this
    this.isOver = true
    if (exchange !== undefined && !response.writableEnded) {
      exchange.isGone = true
      exchange.attempt?.cancel()
    }
    this.ended(response.headersSent ? response.statusCode : 0)
  }

  private ended(status: number): void {
    const { routing, inForce, handling } = this
    const seconds = (performance.now() - this.startMs) / 1000
    countRequest((inForce ?? routing).meter, status, seconds)
    handling.accessLog?.(this.summary(status, seconds))
    routing.leave()
  }

  private summary(status: number, seconds: number): Ended {
    const { message, id, request, inForce, exchange } = this
    const address = request?.address
    return {
      message,
      id,
      route: inForce?.route.id,
      address: address === undefined ? undefined : formatAddress(address),
      status,
      bytes: this.bytes + (exchange?.bytes ?? 0),
      timeMs: request?.timeMs ?? Date.now(),
      seconds,
    }
  }
}
