import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { formatAddress } from '@tidegate/http'
import type { ClientShares } from '../../http/client-shares.js'
import { atEndOfTurn } from '../../http/end-of-turn.js'
import type { CorsHeaders } from '../cors/cors.js'
import type { GatewayRequestFacts } from '../request/request-facts.js'
import type { ResponseEnding, RouteDecision } from '../route.js'
import type { ActiveRoute, ActiveRoutes } from '../routing/active-routes.js'
import { recordRequest } from '../routing/route-metrics.js'
import type { AccessLog, FinishedRequest } from './access-log.js'
import { watchDelivery } from './delivery.js'
import { discardBody } from './discard-body.js'
import type { Exchange } from './exchange.js'
import { sendProblem, sendResponse } from './gateway-response.js'
import type { Upgrade } from './web-socket.js'

/** State shared by all requests of a gateway. */
export interface GatewayState {
  /** Replaced as a whole when the configuration changes. */
  routing: ActiveRoutes
  readonly idOf: (message: IncomingMessage) => string
  readonly bodyIdleMs: number
  /** Bytes per second; 0: any. */
  readonly minBodyRate: number
  /** For HTTP/2, where Node does not enforce it. */
  readonly maxHeaderBytes: number
  readonly accessLog: AccessLog | undefined
  /** Bytes of request bodies that are read whole. */
  readonly bodyMemory: ClientShares
  /** Token budgets that are being settled, and slots that are being released. */
  readonly settlements: Set<Promise<void>>
  /** Called for unexpected errors. */
  readonly onError: (error: unknown) => void
  /** Whether the service is stopping, and connections are closed after their response. */
  isStopping: boolean
}

type Denial = NonNullable<RouteDecision['denial']>
type Headers = Readonly<Record<string, string | string[]>>

/** One request, from its headers to the end of its response. */
export class RequestContext {
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade: Upgrade | undefined
  readonly state: GatewayState
  /** The routes that were active when the request arrived. */
  readonly routing: ActiveRoutes
  readonly id: string
  request: GatewayRequestFacts | undefined
  activeRoute: ActiveRoute | undefined
  exchange: Exchange | undefined
  /** CORS headers of the response; undefined if the path has no CORS rule. */
  corsHeaders: CorsHeaders | undefined
  /** Number of fallbacks so far. */
  fallbacks = 0
  /** Whether the response has ended or the client has disconnected. */
  isOver = false
  private releaseSlots: (() => Promise<void>) | undefined
  private readonly startMs: number
  /** Body bytes of a response that the gateway wrote itself. */
  private bytes = 0

  constructor(
    state: GatewayState,
    message: IncomingMessage,
    response: ServerResponse,
    upgrade: Upgrade | undefined,
  ) {
    this.startMs = performance.now()
    this.message = message
    this.response = response
    this.upgrade = upgrade
    this.state = state
    this.routing = state.routing
    this.id = state.idOf(message)
    this.routing.enter()
    response.on('finish', () => this.release())
    response.on('close', () => this.closed())
  }

  /** Responds with an error. */
  reject(status: number, message: string, headers?: Headers): void {
    discardBody(this.message, this.response)
    this.bytes = sendProblem(this.response, status, message, this.withOwnHeaders(headers))
    watchDelivery(this.response, this.state.bodyIdleMs)
  }

  /** Responds without an upstream. */
  respond(status: number, headers: Headers, body: string): void {
    discardBody(this.message, this.response)
    this.bytes = sendResponse(this.response, status, this.withOwnHeaders(headers), body)
    watchDelivery(this.response, this.state.bodyIdleMs)
  }

  /** Responds with the denial of a limit. */
  deny({ status, contentType, body }: Denial, headers: Headers): void {
    atEndOfTurn(
      () => {
        if (!this.isOver) this.respond(status, { ...headers, 'content-type': contentType }, body)
      },
      (error) => this.fail(error),
    )
  }

  fail(error: unknown): void {
    this.state.onError(error)
    if (!this.isOver) this.reject(500, 'The gateway failed to process the request; see its log.')
  }

  /** Ends the request: its connection continues as a WebSocket, which keeps the slots until it closes. */
  endAsTunnel(upstreamSocket: Duplex): void {
    upstreamSocket.once('close', () => this.release())
    this.finish(101)
  }

  /** Frees the slots of the request when its response has been sent, or the client has disconnected. */
  releaseAtEnd(release: () => Promise<void>): void {
    // A fallback route may have slots too.
    const before = this.releaseSlots
    this.releaseSlots =
      before === undefined ? release : async () => void (await Promise.all([before(), release()]))
    if (this.isOver) this.release()
  }

  /** Settles the token budgets of the request, if it has any. Only the first call has an effect. */
  endBudget(ending: ResponseEnding): void {
    this.track(this.exchange?.budget?.end(ending))
  }

  private release(): void {
    const { releaseSlots } = this
    this.releaseSlots = undefined
    this.track(releaseSlots?.())
  }

  /** Adds the CORS headers and the request id to the headers of a response of the gateway. */
  private withOwnHeaders(headers?: Headers): Headers {
    const vary = [headers?.vary ?? [], this.corsHeaders?.vary ?? []].flat()
    return {
      ...headers,
      ...this.corsHeaders,
      ...(vary.length > 0 && { vary: vary.join(', ') }),
      'x-request-id': this.id,
    }
  }

  /** Lets the closing of the gateway wait for a settlement or a release. */
  private track(ending: Promise<void> | undefined): void {
    const { onError, settlements } = this.state
    const settlement = ending?.catch(onError)
    if (settlement === undefined) return
    settlements.add(settlement)
    void settlement.then(() => settlements.delete(settlement))
  }

  private closed(): void {
    const { exchange, response } = this
    this.isOver = true
    if (exchange !== undefined && !response.writableEnded) {
      exchange.isClientGone = true
      exchange.attempt?.cancel()
    }
    const isCutOff = exchange?.isClientGone === true && exchange.attempt?.isSent === true
    this.endBudget(isCutOff ? 'cut-off' : 'failed')
    this.release()
    this.finish(response.headersSent ? response.statusCode : 0)
  }

  private finish(status: number): void {
    const { routing, activeRoute, state } = this
    const seconds = (performance.now() - this.startMs) / 1000
    recordRequest((activeRoute ?? routing).meter, status, seconds)
    state.accessLog?.(this.summary(status, seconds))
    routing.leave()
  }

  private summary(status: number, seconds: number): FinishedRequest {
    const { message, id, request, activeRoute, exchange } = this
    const address = request?.address
    return {
      message,
      id,
      route: activeRoute?.route.id,
      address: address === undefined ? undefined : formatAddress(address),
      status,
      bytes: this.bytes + (exchange?.bytes ?? 0),
      timeMs: request?.timeMs ?? Date.now(),
      seconds,
    }
  }
}
