import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import { optionInvalid, show, TidegateError } from '@tidegate/core'
import type { RequestReader } from '../middleware/rate-limit.js'
import { targetOf } from '../path/target.js'
import { fastifyTarget } from './fastify-target.js'
import { expressProxies, fastifyProxies } from './framework-proxies.js'
import { type NodeSource, nodeReader } from './node-facts.js'

// biome-ignore lint/suspicious/noExplicitAny: the type depends on the platform, and Nest uses this type too
type NestRequest = any

/** One call that a guard decides about. */
export interface NestCall {
  readonly kind: 'http' | 'graphql' | 'ws'
  /** The argument of the user's functions: the platform's request, or the client of a WebSocket. */
  readonly request: NestRequest
  /** Undefined for WebSockets, and for GraphQL contexts that do not hold it. */
  readonly response: PlatformResponse | undefined
  /** The GraphQL operation or the message of a WebSocket. */
  readonly route: string | undefined
}

/** The common part of the responses of Express and Fastify. */
export interface PlatformResponse extends ServerResponse {
  /** Node's response inside of a reply of Fastify. */
  raw?: ServerResponse
  header(name: string, value: string): unknown
  status(status: number): { send(body: string): unknown }
}

/** Throws for a context that cannot be counted, so that it does not pass without a limit. */
export function callOf(context: ExecutionContext): NestCall {
  const kind: string = context.getType()
  if (kind === 'http') {
    const http = context.switchToHttp()
    return { kind, request: http.getRequest(), response: http.getResponse(), route: undefined }
  }
  if (kind === 'graphql') return graphqlCall(context)
  if (kind === 'ws') {
    const ws = context.switchToWs()
    return { kind, request: ws.getClient(), response: undefined, route: String(ws.getPattern()) }
  }
  throw optionInvalid(
    undefined,
    `RateLimitGuard supports HTTP, GraphQL and WebSockets, got a context of the type ${show(kind)}. Write @SkipRateLimit() above the handler ${context.getClass().name}.${context.getHandler().name}.`,
  )
}

function graphqlCall(context: ExecutionContext): NestCall {
  const [, , graphql, info] =
    context.getArgs<[unknown, unknown, GraphqlContext | undefined, GraphqlInfo | undefined]>()
  const found = graphql?.req ?? graphql?.request ?? graphql?.reply?.request
  // A subscription over graphql-ws has the upgrade request inside.
  const request = found?.extra?.request ?? found
  if (typeof request !== 'object' || request === null) {
    throw optionInvalid(
      undefined,
      'RateLimitGuard found no request in the GraphQL context. Write context: ({ req, res }) => ({ req, res }) in GraphQLModule.forRoot().',
    )
  }
  const response = graphql?.res ?? graphql?.reply ?? request.res
  const isResponse = typeof response?.header === 'function'
  const route = info === undefined ? undefined : `${info.parentType}.${info.fieldName}`
  return { kind: 'graphql', request, response: isResponse ? response : undefined, route }
}

/** GraphQL drivers and applications use different names for the request. */
interface GraphqlContext {
  req?: NestRequest
  request?: NestRequest
  res?: NestRequest
  reply?: NestRequest
}

interface GraphqlInfo {
  readonly fieldName: string
  readonly parentType: { toString(): string }
}

const SOURCE: NodeSource<NestRequest> = {
  message: (request): IncomingMessage => request.raw ?? request,
  url: (request) => (isFastify(request) ? fastifyTarget(request) : (request.originalUrl ?? request.url)),
  routed: (request) => (request.path === undefined ? undefined : `${request.baseUrl ?? ''}${request.path}`),
  route: (request) => request.route?.path ?? request.routeOptions?.url,
  proxies: (request) => (isFastify(request) ? fastifyProxies(request) : expressProxies(request)),
}

/** Fastify's request holds the request of Node and the server. */
function isFastify(request: NestRequest): boolean {
  return request.raw !== undefined && request.server !== undefined
}

export const httpReader = nodeReader(SOURCE)

/** Each operation of a request counts separately. */
export function graphqlReader(route: string | undefined): RequestReader<NestRequest> {
  const { facts } = nodeReader({ ...SOURCE, route: () => route })
  return { facts, identity: () => ({}) }
}

/**
 * A client of Socket.IO holds its upgrade request. A client of `ws` holds only the socket, so headers are unknown unless
 * the gateway sets `client.upgradeReq = request` in `handleConnection(client, request)`.
 */
export function wsReader(route: string | undefined, hasProxies: boolean): RequestReader<NestRequest> {
  return {
    identity: () => ({}),
    facts(client, findIp) {
      const upgrade: IncomingMessage | undefined = client.upgradeReq ?? client.request
      const socket = upgrade?.socket ?? client._socket
      const peer: string | undefined = socket?.remoteAddress ?? client.handshake?.address
      const target = targetOf(upgrade?.url ?? '/')
      return {
        method: 'GET',
        path: target.path,
        query: target.query,
        route,
        get ip() {
          if (hasProxies && upgrade === undefined) throw upgradeUnknown()
          return findIp(peer, this)
        },
        // 2 and 3 are the closing and the closed state of a WebSocket.
        isGone: client.readyState >= 2 || client.disconnected === true || socket?.destroyed === true,
        header(name) {
          const value = upgrade?.headers[name]
          if (typeof value === 'string') return value
          return Array.isArray(value) ? value.join(', ') : undefined
        },
      }
    },
  }
}

function upgradeUnknown(): TidegateError {
  return new TidegateError(
    'ADDRESS_UNKNOWN',
    'RateLimitGuard: the client of the WebSocket has no upgrade request, so the address in X-Forwarded-For is unknown. Write handleConnection(client, request) { client.upgradeReq = request } in the gateway.',
    { field: 'proxies' },
  )
}
