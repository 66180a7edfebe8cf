import type { WhoIs } from './rate-limit.js'
import type { RequestFacts } from './request.js'
import { targetOf } from './target.js'

/** Where to find what is not in a `Request`. */
interface FetchSource {
  /** What came with it. */
  readonly rest: readonly unknown[]
  /** Where it came from, if the user says. Default: as `rest` says. */
  readonly peer: (() => string | null | undefined) | undefined
  readonly route?: () => string | undefined
}

export function fetchFacts(request: Request, whoIs: WhoIs, { rest, peer, route }: FetchSource): RequestFacts {
  const known = peer === undefined ? peerOf(request, rest) : undefined
  return {
    method: request.method,
    get path() {
      return targetOf(request.url).path
    },
    get query() {
      return targetOf(request.url).query
    },
    get ip() {
      return whoIs(peer === undefined ? known : (peer() ?? undefined), this)
    },
    get isGone() {
      return isGone(request, rest)
    },
    get route() {
      return route?.()
    },
    header: (name) => request.headers.get(name) ?? undefined,
  }
}

/**
 * The address of the connection, from what runtimes hand over beside a request: Deno an object with
 * `remoteAddr`, Bun its server, Hono on Node the message. Undefined on those that tell nobody.
 */
function peerOf(request: Request, rest: readonly unknown[]): string | undefined {
  for (const beside of rest as readonly (Beside | null | undefined)[]) {
    const address =
      beside?.remoteAddr?.hostname ??
      beside?.incoming?.socket?.remoteAddress ??
      beside?.requestIP?.(request)?.address ??
      beside?.server?.requestIP?.(request)?.address
    if (typeof address === 'string') return address
  }
  return undefined
}

/** Whether the client has hung up, as far as anybody knows. */
function isGone(request: Request, rest: readonly unknown[]): boolean {
  const hasHungUp = (beside: Beside | null | undefined) => beside?.incoming?.socket?.destroyed === true
  return request.signal.aborted || (rest as readonly (Beside | null | undefined)[]).some(hasHungUp)
}

interface Beside {
  remoteAddr?: { hostname?: unknown }
  incoming?: { socket?: { remoteAddress?: unknown; destroyed?: unknown } }
  requestIP?(request: Request): { address?: unknown } | null
  server?: { requestIP?(request: Request): { address?: unknown } | null }
}
