import { assertOptions, numberOption, optionInvalid, show } from '@tidegate/core'
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
  /** The trusted proxies: addresses and ranges such as `10.0.0.0/8`. Default: none. */
  trusted?: readonly string[]
  /** How many proxies are in front, for proxies without fixed addresses. Write this or `trusted`. Default: 0. */
  hops?: number
  /** The header in which the proxies name the client. Default: `'x-forwarded-for'`. */
  header?: 'x-forwarded-for' | 'forwarded'
  /** How many bits of an IPv6 address make one client, 1 to 128. Default: 64. */
  ipv6Prefix?: number
}

/** Which proxies may name the client. */
export interface Proxies {
  readonly trusted: readonly Cidr[]
  readonly hops: number
  readonly header: 'x-forwarded-for' | 'forwarded'
  readonly ipv6Prefix: number
}

type Header = (name: string) => string | undefined

export function defineProxies(options: ProxiesOptions = {}): Proxies {
  if (typeof options !== 'object' || Array.isArray(options))
    throw optionInvalid(
      'proxies',
      `proxies must be an object of trusted, hops, header and ipv6Prefix, got ${show(options)}. Write ${proxiesCode(options)}.`,
    )
  assertOptions('proxies', options, ['trusted', 'hops', 'header', 'ipv6Prefix'])
  const { trusted = [], header = 'x-forwarded-for' } = options
  if (!Array.isArray(trusted)) {
    throw optionInvalid('trusted', `trusted must be a list such as ['10.0.0.0/8'], got ${show(trusted)}.`)
  }
  const hops = numberOption('hops', options.hops, {
    from: 0,
    to: MAX_HOPS,
    otherwise: 0,
    isWhole: true,
    advice: 'Write how many proxies are in front, for example hops: 1.',
  })
  if (hops > 0 && trusted.length > 0) {
    throw optionInvalid(
      'hops',
      'hops and trusted exclude each other. Write trusted if you know the addresses.',
    )
  }
  if (header !== 'x-forwarded-for' && header !== 'forwarded') {
    throw optionInvalid('header', `header must be 'x-forwarded-for' or 'forwarded', got ${show(header)}.`)
  }
  const ipv6Prefix = numberOption('ipv6Prefix', options.ipv6Prefix, {
    from: 1,
    to: 128,
    otherwise: 64,
    isWhole: true,
    advice: 'Leave it out for 64, or write 128 to limit each address separately.',
  })
  return Object.freeze({ trusted: trusted.map(rangeOf), hops, header, ipv6Prefix })
}

/** The option for a setting of another library, such as `trustProxy: 1`. */
export function proxiesCode(setting: unknown): string {
  if (typeof setting === 'number') return `proxies: { hops: ${show(setting)} }`
  if (typeof setting !== 'string' && !Array.isArray(setting)) return 'proxies: { hops: 1 }'
  return `proxies: { trusted: ${show([setting].flat()).replaceAll('"', "'")} }`
}

/**
 * The address of the client. The header is read from the right, where the nearest proxy wrote: entries further left may
 * be forged by the client.
 *
 * With `trusted`, the first address that is not a trusted proxy is the client. With `hops`, it is the entry that the
 * outermost of that many proxies wrote; a header with fewer entries did not pass through all of them, so the peer
 * counts. An entry that is not an address ends the search at the last known hop.
 *
 * Undefined if the peer has no address and the header names no client.
 */
export function clientAddress(
  proxies: Proxies,
  peer: string | undefined,
  header: Header,
): Address | undefined {
  const peerAddress = peer === undefined ? undefined : parseAddress(peer)
  if (proxies.hops > 0) return addressAtHop(proxies, header) ?? peerAddress
  if (peerAddress === undefined || !isTrusted(proxies, peerAddress)) return peerAddress
  if (header(proxies.header) === undefined && proxies.header === 'x-forwarded-for') {
    return realIp(header) ?? peerAddress
  }
  let hop = peerAddress
  for (const address of addressesFromRight(proxies, header)) {
    if (address === undefined) return hop
    hop = address
    if (!isTrusted(proxies, hop)) return hop
  }
  return hop
}

/**
 * The client that a trusted peer names, found like `clientAddress`. Undefined if the peer is not trusted, if the header is
 * missing, or if its last entry, which the peer wrote, is not an address.
 */
export function namedClient(proxies: Proxies, peer: string | undefined, header: Header): Address | undefined {
  if (!isTrustedProxy(proxies, peer)) return undefined
  if (header(proxies.header) === undefined) {
    return proxies.header === 'x-forwarded-for' ? realIp(header) : undefined
  }
  const [nearest] = addressesFromRight(proxies, header)
  return nearest === undefined ? undefined : clientAddress(proxies, peer, header)
}

/** Whether the address of a connection is in the `trusted` ranges. */
export function isTrustedProxy(proxies: Proxies, peer: string | undefined): boolean {
  const address = peer === undefined ? undefined : parseAddress(peer)
  return address !== undefined && isTrusted(proxies, address)
}

/** The client as the `ip` of `RequestFacts`: one text for all spellings of its address, IPv6 by its network. */
export function clientIp(proxies: Proxies, peer: string | undefined, header: Header): string | undefined {
  if (proxies.trusted.length === 0 && proxies.hops === 0) {
    return peer === undefined ? undefined : canonicalAddress(peer, proxies.ipv6Prefix)
  }
  const address = clientAddress(proxies, peer, header)
  return address === undefined ? undefined : formatAddress(address, proxies.ipv6Prefix)
}

/** More proxies than any chain has. */
const MAX_HOPS = 32

function addressAtHop(proxies: Proxies, header: Header): Address | undefined {
  let count = 0
  for (const address of addressesFromRight(proxies, header)) {
    if (address === undefined) return undefined
    if (++count === proxies.hops) return address
  }
  return undefined
}

/** The addresses in the header, from the right; undefined for an entry that is not an address. */
function* addressesFromRight(proxies: Proxies, header: Header): Generator<Address | undefined> {
  const list = header(proxies.header)
  if (list === undefined) return
  const isForwarded = proxies.header === 'forwarded'
  for (let end = list.length; end >= 0; ) {
    // X-Forwarded-For has no quotes, so every comma ends an entry.
    const start = isForwarded ? lastElement(list, end) : end === 0 ? 0 : list.lastIndexOf(',', end - 1) + 1
    const entry = list.slice(start, end)
    const named = isForwarded ? forwardedFor(entry) : entry.trim()
    yield named === undefined ? undefined : parseAddress(named)
    end = start - 1
  }
}

function isTrusted({ trusted }: Proxies, address: Address): boolean {
  for (const range of trusted) if (contains(range, address)) return true
  return false
}

/** X-Real-IP holds one address. Some proxies set it instead of a list. */
function realIp(header: Header): Address | undefined {
  const text = header('x-real-ip')
  return text === undefined ? undefined : parseAddress(text.trim())
}

function rangeOf(entry: unknown): Cidr {
  const range = typeof entry === 'string' ? parseCidr(entry) : undefined
  if (range !== undefined) return range
  throw optionInvalid(
    'trusted',
    `trusted has ${show(entry)}, which is not an address or a range. Write for example '10.0.0.0/8', '2001:db8::/32' or '192.0.2.1'.`,
  )
}
