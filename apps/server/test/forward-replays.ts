import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  request as send,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'yaml'
import type { ForwardProxy } from './forward-proxies.js'

// Traefik and Envoy are not in Debian. These servers read their configuration files, ask Tidegate exactly as they do, and
// treat its response as they do.

const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What a proxy does with a request. */
interface Behaviour {
  /** The request to Tidegate. */
  question(client: IncomingMessage): { method: string; url: string; headers: OutgoingHttpHeaders }
  /** The response to the client; undefined lets the request pass. `answer` is undefined if Tidegate is unreachable. */
  denial(answer: Answer | undefined): Answer | undefined
  /** The headers for the upstream. */
  upstreamHeaders(client: IncomingMessage): OutgoingHttpHeaders
  /** Headers of Tidegate that an allowed client gets. */
  clientHeaders(answer: Answer): IncomingHttpHeaders
  readonly upstream: string
}

/** forwardAuth: GET to a fixed address with all headers of the client; the forwarding headers are replaced. */
export function startTraefikReplay(yaml: string): Promise<ForwardProxy> {
  const { http } = parse(yaml)
  const { forwardAuth } = http.middlewares.tidegate
  if (forwardAuth.trustForwardHeader !== false) throw new Error('this replays trustForwardHeader: false')
  const names: string[] = http.routers.shop.middlewares
  const applied = (chain: readonly string[], headers: IncomingHttpHeaders) => {
    const changed: OutgoingHttpHeaders = { ...headers }
    for (const name of chain) {
      for (const [header, value] of Object.entries(
        http.middlewares[name].headers?.customRequestHeaders ?? {},
      )) {
        if (value === '') delete changed[header.toLowerCase()]
        else changed[header.toLowerCase()] = value as string
      }
    }
    return changed
  }
  return startReplay({
    upstream: http.services.shop.loadBalancer.servers[0].url,
    question: (client) => ({
      method: 'GET',
      url: forwardAuth.address,
      headers: {
        ...without(applied(names.slice(0, names.indexOf('tidegate')), client.headers), [
          ...HOP_BY_HOP,
          'content-length',
          'host',
        ]),
        'x-forwarded-for': client.socket.remoteAddress,
        'x-forwarded-method': client.method,
        'x-forwarded-proto': 'http',
        'x-forwarded-host': client.headers.host,
        'x-forwarded-uri': client.url,
      },
    }),
    denial(answer) {
      if (answer === undefined) return { status: 500, headers: {}, body: '' }
      if (answer.status >= 200 && answer.status < 300) return undefined
      return { ...answer, headers: without(answer.headers, HOP_BY_HOP) as IncomingHttpHeaders }
    },
    // An entry point replaces the forwarding headers of clients that it does not trust.
    upstreamHeaders: (client) =>
      applied(names, { ...client.headers, 'x-forwarded-for': client.socket.remoteAddress }),
    clientHeaders: () => ({}),
  })
}

interface Patterns {
  readonly patterns: readonly { exact?: string; prefix?: string }[]
}

/** ext_authz over HTTP: the original method, the path below the prefix, the original host and the headers that are listed. */
export function startEnvoyReplay(yaml: string): Promise<ForwardProxy> {
  const { static_resources: resources } = parse(yaml)
  const manager = resources.listeners[0].filter_chains[0].filters[0].typed_config
  if (manager.use_remote_address !== true) throw new Error('this replays use_remote_address: true')
  const authz = manager.http_filters[0].typed_config
  const { http_service: service, failure_mode_allow: failOpen } = authz
  const { address, port_value: port } =
    resources.clusters[1].load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address
  const withClient = (client: IncomingMessage): OutgoingHttpHeaders => {
    const before = client.headers['x-forwarded-for']
    const own = client.socket.remoteAddress
    return { ...client.headers, 'x-forwarded-for': before === undefined ? own : `${before},${own}` }
  }
  const failure = failOpen
    ? undefined
    : { status: authz.status_on_error.code === 'ServiceUnavailable' ? 503 : 403, headers: {}, body: '' }
  return startReplay({
    upstream: `http://${address}:${port}`,
    question(client) {
      const added = service.authorization_request.headers_to_add as { key: string; value: string }[]
      return {
        method: client.method!,
        url: `${service.server_uri.uri}${service.path_prefix}${client.url}`,
        headers: {
          ...listed(withClient(client), authz.allowed_headers),
          ...listed(client.headers, { patterns: [{ exact: 'authorization' }, { exact: 'host' }] }),
          'content-length': '0',
          ...Object.fromEntries(added.map(({ key, value }) => [key, value])),
        },
      }
    },
    denial(answer) {
      if (answer === undefined || answer.status >= 500) return failure
      return answer.status === 200 ? undefined : answer
    },
    upstreamHeaders(client) {
      const removed = manager.route_config.virtual_hosts[0].request_headers_to_remove
      return without(withClient(client), removed)
    },
    clientHeaders: ({ headers }) =>
      listed(
        headers,
        service.authorization_response.allowed_client_headers_on_success,
      ) as IncomingHttpHeaders,
  })
}

function listed(headers: OutgoingHttpHeaders, { patterns }: Patterns): OutgoingHttpHeaders {
  const isListed = (name: string) =>
    patterns.some(({ exact, prefix }) => name === exact || (prefix !== undefined && name.startsWith(prefix)))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isListed(name)))
}

function without(headers: OutgoingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

async function startReplay(behaviour: Behaviour): Promise<ForwardProxy> {
  const server = createServer(async (client, response) => {
    const answer = await ask(behaviour, client).catch(() => undefined)
    const denial = behaviour.denial(answer)
    if (denial !== undefined) {
      client.resume()
      response.writeHead(denial.status, without(denial.headers, ['content-length', 'date']))
      response.end(denial.body)
    } else {
      passOn(behaviour, client, response, answer === undefined ? {} : behaviour.clientHeaders(answer))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function ask({ question }: Behaviour, client: IncomingMessage): Promise<Answer> {
  const { method, url, headers } = question(client)
  return new Promise((resolve, reject) => {
    const { origin, hostname, port } = new URL(url)
    // The path of a URL object would have its dots resolved.
    const path = url.slice(origin.length)
    const request = send({ hostname, port, path, method, headers }, (response) => {
      let body = ''
      response.on('data', (data) => (body += data))
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }))
    })
    request.on('error', reject).end()
  })
}

function passOn(
  { upstream, upstreamHeaders }: Behaviour,
  client: IncomingMessage,
  response: ServerResponse,
  more: IncomingHttpHeaders,
): void {
  const { hostname, port } = new URL(upstream)
  const headers = upstreamHeaders(client)
  const request = send({ hostname, port, path: client.url, method: client.method, headers }, (answer) => {
    response.writeHead(answer.statusCode!, { ...answer.headers, ...more })
    answer.pipe(response)
  })
  client.pipe(request)
}
