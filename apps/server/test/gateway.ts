import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'
import { defineProxies, type ProxiesOptions } from '@tidegate/http'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { type Gateway, type GatewayOptions, startGateway } from '../src/gateway/index.js'
import type { Route } from '../src/gateway/route.js'
import { routeTo } from '../src/gateway/route-to.js'
import type { Routing } from '../src/gateway/routing/active-routes.js'

/** A gateway on a free port with the routes of a test, and its log. */
export interface TestGateway extends Gateway {
  readonly registry: Registry
  readonly logged: Record<string, unknown>[]
}

export async function gatewayTo(
  routes: Partial<Route> | readonly Partial<Route>[],
  options: Partial<GatewayOptions> & { proxies?: ProxiesOptions } = {},
): Promise<TestGateway> {
  const registry = new Registry()
  const logged: Record<string, unknown>[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const gateway = await startGateway({
    host: '127.0.0.1',
    port: 0,
    limits: LIMITS,
    routing: routingOf(routes, options.proxies),
    log,
    registry,
    ...options,
  })
  return { ...gateway, registry, logged }
}

export const LIMITS = {
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 20_000,
  requestTimeoutMs: 20_000,
  keepAliveTimeoutMs: 20_000,
  stopTimeoutMs: 5000,
}

/** Finds the first route whose id is the first segment of the path, as in `/a/…`; a route without an id matches all paths. */
export function routingOf(
  routes: Partial<Route> | readonly Partial<Route>[],
  proxies: ProxiesOptions = {},
): Routing {
  const all = [routes].flat().map(routeOf)
  return {
    routes: all,
    find: ({ path }) => all.find(({ id }) => id === 'all' || path === `/${id}` || path.startsWith(`/${id}/`)),
    proxies: defineProxies(proxies),
  }
}

const NO_RETRY: Route['retry'] = {
  retries: 0,
  retriesIfLost: 0,
  methods: new Set(),
  isFailure: () => false,
  backoffMs: () => 0,
}

function routeOf(route: Partial<Route>): Route {
  const timeouts = { connectMs: 5000, headersMs: 30_000, bodyMs: 30_000 }
  return { ...routeTo('all', [], { retry: NO_RETRY, timeouts }), ...route }
}

/** A server of a test, and its connections. */
export interface TestUpstream {
  readonly url: string
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  /** Number of closed connections. (After an aborted request, undici opens a new one.) */
  closed(): number
  close(): Promise<void>
}

export async function upstreamOf(listener: RequestListener): Promise<TestUpstream> {
  return listening(createServer(listener))
}

export async function listening<Listening extends import('node:net').Server>(
  server: Listening,
): Promise<TestUpstream> {
  const sockets = new Set<Socket>()
  let closed = 0
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      closed++
      sockets.delete(socket)
    })
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    server: server as unknown as Server,
    sockets,
    closed: () => closed,
    async close() {
      for (const socket of sockets) socket.destroy()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** An upstream of sockets: it responds to each request with exactly these bytes, and keeps the requests. */
export async function rawUpstream(
  answer: string | Buffer | ((socket: Socket, received: string) => void),
): Promise<TestUpstream & { readonly received: string[] }> {
  const received: string[] = []
  const upstream = await listening(
    createNetServer((socket) => {
      let text = ''
      socket.on('data', (data) => {
        text += data.toString('latin1')
        if (!isWholeRequest(text)) return
        received.push(text)
        const request = text
        text = ''
        if (typeof answer === 'function') answer(socket, request)
        else socket.write(answer)
      })
    }),
  )
  return { ...upstream, received }
}

function isWholeRequest(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  if (/\r\ntransfer-encoding: chunked/i.test(text)) return text.endsWith('\r\n0\r\n\r\n')
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
  return text.length >= end + 4 + length
}

/** The URL of a closed port. */
export async function deadUrl(): Promise<string> {
  const { url, close } = await listening(createNetServer())
  await close()
  return url
}

/** The labels and values of a counter, where it is not 0. */
export async function countsIn({ registry }: TestGateway, name: string): Promise<string[]> {
  const lines = [...(await registry.metrics()).matchAll(new RegExp(`^${name}\\{(.*)\\} (.*)$`, 'gm'))]
  return lines.filter(([, , value]) => value !== '0').map(([, labels, value]) => `${labels} ${value}`)
}
