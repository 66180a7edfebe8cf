import { assertOptions, show, TidegateError } from '@tidegate/core'
import {
  type Address,
  type Cidr,
  canonicalAddress,
  contains,
  formatAddress,
  parseAddress,
  parseCidr,
} from './address.js'
import { forwardedFor, lastElement } from './forwarded.js'

export interface ProxiesOptions {
  /** The proxies whose word counts: addresses and ranges such as `10.0.0.0/8`. Default: none. */
  trusted?: readonly string[]
  /** The header in which they name the client. Default: `'x-forwarded-for'`. */
  header?: 'x-forwarded-for' | 'forwarded'
  /** How many bits of an IPv6 address make one client, 1 to 128. Default: 64. */
  ipv6Prefix?: number
}

/** Whom to believe about where a request comes from. */
export interface Proxies {
  readonly trusted: readonly Cidr[]
  readonly header: 'x-forwarded-for' | 'forwarded'
  readonly ipv6Prefix: number
}

type Header = (name: string) => string | undefined

export function defineProxies(options: ProxiesOptions = {}): Proxies {
  assertOptions('defineProxies()', options, ['trusted', 'header', 'ipv6Prefix'])
  const { trusted = [], header = 'x-forwarded-for', ipv6Prefix = 64 } = options
  if (!Array.isArray(trusted)) {
    throw invalid('trusted', `trusted must be a list such as ['10.0.0.0/8'], got ${show(trusted)}.`)
  }
  if (header !== 'x-forwarded-for' && header !== 'forwarded') {
    throw invalid('header', `header must be 'x-forwarded-for' or 'forwarded', got ${show(header)}.`)
  }
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128) {
    throw invalid(
      'ipv6Prefix',
      `ipv6Prefix must be a whole number from 1 to 128, got ${show(ipv6Prefix)}. Leave it out for 64, or write 128 to count each address by itself.`,
    )
  }
  return Object.freeze({ trusted: trusted.map(rangeOf), header, ipv6Prefix })
}

/**
 * Where a request really comes from. The headers are read from the right, where the nearest proxy wrote, and
 * only as long as the one who wrote is trusted; the first address that is not is the client's. Whatever
 * stands left of it, the client may have made up. An entry that is no address ends the walk at the last hop
 * that is known, which is the peer in the worst case. Undefined only if the peer has no address.
 */
export function clientAddress(
  proxies: Proxies,
  peer: string | undefined,
  header: Header,
): Address | undefined {
  let hop = peer === undefined ? undefined : parseAddress(peer)
  if (hop === undefined || !isTrusted(proxies, hop)) return hop
  const isForwarded = proxies.header === 'forwarded'
  const list = header(proxies.header)
  if (list === undefined) return isForwarded ? hop : (realIp(header) ?? hop)
  for (let end = list.length; end >= 0; ) {
    // An X-Forwarded-For has no quotes: a comma is always the end of an entry.
    const start = isForwarded ? lastElement(list, end) : end === 0 ? 0 : list.lastIndexOf(',', end - 1) + 1
    const entry = list.slice(start, end)
    const named = isForwarded ? forwardedFor(entry) : entry.trim()
    const address = named === undefined ? undefined : parseAddress(named)
    if (address === undefined) return hop
    hop = address
    if (!isTrusted(proxies, hop)) return hop
    end = start - 1
  }
  return hop
}

/**
 * The client as the `ip` of `RequestFacts`: one text for all spellings of its address, IPv6 by its network.
 */
export function clientIp(proxies: Proxies, peer: string | undefined, header: Header): string | undefined {
  if (proxies.trusted.length === 0) {
    return peer === undefined ? undefined : canonicalAddress(peer, proxies.ipv6Prefix)
  }
  const address = clientAddress(proxies, peer, header)
  return address === undefined ? undefined : formatAddress(address, proxies.ipv6Prefix)
}

function isTrusted({ trusted }: Proxies, address: Address): boolean {
  for (const range of trusted) if (contains(range, address)) return true
  return false
}

/** What a proxy that knows no lists sets: one address. */
function realIp(header: Header): Address | undefined {
  const text = header('x-real-ip')
  return text === undefined ? undefined : parseAddress(text.trim())
}

function rangeOf(entry: unknown): Cidr {
  const range = typeof entry === 'string' ? parseCidr(entry) : undefined
  if (range !== undefined) return range
  throw invalid(
    'trusted',
    `trusted has ${show(entry)}, which is no address and no range. Write for example '10.0.0.0/8', '2001:db8::/32' or '192.0.2.1'.`,
  )
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
