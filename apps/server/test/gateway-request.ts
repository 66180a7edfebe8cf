import { canonicalPath, formatAddress, parseAddress } from '@tidegate/http'
import type { GatewayRequest } from '../src/gateway/route.js'

interface Described {
  method?: string
  /** With the query. */
  target?: string
  headers?: Readonly<Record<string, string>>
  ip?: string
  timeMs?: number
}

/** The facts of a request in the gateway. */
export function gatewayRequest(described: Described = {}): GatewayRequest {
  const { method = 'GET', target = '/', headers = {}, ip = '192.0.2.1', timeMs = 0 } = described
  const address = parseAddress(ip)
  return {
    method,
    ...canonicalPath(target)!,
    header: (name) => headers[name],
    address,
    ip: address === undefined ? undefined : formatAddress(address, 64),
    timeMs,
  }
}
