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

/** The option `proxies`: the reverse proxies in front of the server. */
export interface ProxiesOptions {
  /** The addresses and ranges of trusted proxies, such as `['10.0.0.0/8']`. Default: none. */
  trusted?: readonly string[]
  /** The number of proxies, for proxies without fixed addresses. An alternative to `trusted`. Default: 0. */
  hops?: number
  /** The header in which the proxies send the client's address. Default: `'x-forwarded-for'`. */
  header?: 'x-forwarded-for' | 'forwarded'
  /** The prefix length that identifies an IPv6 client, 1 to 128 bits. Default: 64. */
  ipv6Prefix?: number
}

/** Validated `ProxiesOptions`. */
export interface Proxies {
  readonly trusted: readonly Cidr[]
  readonly hops: number
  readonly header: 'x-forwarded-for' | 'forwarded'
  readonly ipv6Prefix: number
}

type Header = (name: string) => string | undefined

/** Validates the option `proxies`. Throws `OPTION_INVALID`. */
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
      `hops and trusted cannot be combined, got hops: ${hops} and trusted: ${show(trusted)}. Write trusted if you know the addresses of the proxies, otherwise hops.`,
    )
  }
  if (header !== 'x-forwarded-for' && header !== 'forwarded') {
    throw optionInvalid(
      'header',
      `header must be 'x-forwarded-for' or 'forwarded', got ${show(header)}. Leave it out for 'x-forwarded-for'.`,
    )
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
 * Finds the address of the client. `peer` is the address of the connection. The header is read from the right, where the
 * nearest proxy adds its entry, because the client can forge entries further left.
 *
 * With `trusted`, the client is the first address that is not a trusted proxy. With `hops`, the client is the entry of the
 * outermost proxy; with fewer entries in the header, it is the peer. An entry that is not an address ends the search at
 * the last valid hop.
 *
 * Returns undefined if the peer has no address and the header has no client.
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
 * Finds the client's address in the header of a trusted peer, like `clientAddress`. Returns undefined if the peer is not
 * trusted, if the header is missing, or if its last entry, which the peer added, is not an address.
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

/** The client's address for `ip` of `RequestFacts`: in canonical form, and for IPv6 the network. */
export function clientIp(proxies: Proxies, peer: string | undefined, header: Header): string | undefined {
  if (proxies.trusted.length === 0 && proxies.hops === 0) {
    return peer === undefined ? undefined : canonicalAddress(peer, proxies.ipv6Prefix)
  }
  const address = clientAddress(proxies, peer, header)
  return address === undefined ? undefined : formatAddress(address, proxies.ipv6Prefix)
}

/** Longer than any chain of proxies. */
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
    `trusted must contain only addresses and ranges, got ${show(entry)}. Write for example '10.0.0.0/8', '2001:db8::/32' or '192.0.2.1'.`,
  )
}
