import type { FindIp } from '../address/client-ip.js'
import { targetOf } from '../path/target.js'
import type { RequestFacts } from '../request.js'

/** Where to find facts that a `Request` does not hold. */
interface FetchSource {
  /** The arguments after the request. */
  readonly rest: readonly unknown[]
  /** The option `peer`. Default: the address is read from `rest`. */
  readonly peer: (() => string | null | undefined) | undefined
  readonly route?: () => string | undefined
  readonly mount?: () => string | undefined
}

export function fetchFacts(
  request: Request,
  findIp: FindIp,
  { rest, peer, route, mount }: FetchSource,
): RequestFacts {
  const connectionAddress = peer === undefined ? peerOf(request, rest) : undefined
  return {
    method: request.method,
    get path() {
      return targetOf(request.url).path
    },
    get query() {
      return targetOf(request.url).query
    },
    get ip() {
      return findIp(peer === undefined ? connectionAddress : (peer() ?? undefined), this)
    },
    get isGone() {
      return isGone(request, rest)
    },
    get mount() {
      return mount?.()
    },
    get route() {
      return route?.()
    },
    header: (name) => request.headers.get(name) ?? undefined,
  }
}

/**
 * The address of the connection, from the arguments after the request: Deno passes an object with `remoteAddr`, Bun its
 * server, Hono on Node the message. Undefined on other runtimes.
 */
function peerOf(request: Request, rest: readonly unknown[]): string | undefined {
  for (const argument of rest as readonly (RuntimeArgument | null | undefined)[]) {
    const address =
      argument?.remoteAddr?.hostname ??
      argument?.incoming?.socket?.remoteAddress ??
      argument?.requestIP?.(request)?.address ??
      argument?.server?.requestIP?.(request)?.address
    if (typeof address === 'string') return address
  }
  return undefined
}

/** Whether the client is known to have disconnected. */
function isGone(request: Request, rest: readonly unknown[]): boolean {
  const hasDisconnected = (argument: RuntimeArgument | null | undefined) =>
    argument?.incoming?.socket?.destroyed === true
  return (
    request.signal.aborted || (rest as readonly (RuntimeArgument | null | undefined)[]).some(hasDisconnected)
  )
}

interface RuntimeArgument {
  remoteAddr?: { hostname?: unknown }
  incoming?: { socket?: { remoteAddress?: unknown; destroyed?: unknown } }
  requestIP?(request: Request): { address?: unknown } | null
  server?: { requestIP?(request: Request): { address?: unknown } | null }
}
