/*
 * Addresses are compared by their bits, not by their spelling: `::FFFF:192.0.2.1`, `::ffff:c000:201` and `192.0.2.1` are
 * one IPv4 address. Every request parses an address, so the parser reads the text once and allocates only the result.
 */

/** A parsed IP address. An IPv4 address mapped to IPv6 is an IPv4 address. */
export interface Address {
  readonly family: 4 | 6
  /** Groups of sixteen bits, most significant first: two for IPv4, eight for IPv6. */
  readonly groups: readonly number[]
}

/** A range of addresses in CIDR notation: all addresses that begin with the same bits. */
export interface Cidr extends Address {
  /** The length of the prefix, in bits. */
  readonly prefix: number
}

/**
 * Parses an address as proxies and sockets write it: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`,
 * `[2001:db8::1]:80`, `fe80::1%eth0`. Ports and zones are ignored. Returns undefined for any other text.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_TEXT) return undefined
  if (text.charCodeAt(0) === OPENING_BRACKET) {
    const close = text.indexOf(']')
    const isWhole = close > 0 && (close === text.length - 1 || isPort(text, close + 1))
    return isWhole ? parseIpv6(text, 1, close) : undefined
  }
  const colon = text.indexOf(':')
  if (colon < 0) return parseIpv4(text, text.length)
  // An IPv6 address has at least two colons.
  const isIpv6 = text.indexOf(':', colon + 1) > 0
  if (isIpv6) return parseIpv6(text, 0, text.length)
  return isPort(text, colon) ? parseIpv4(text, colon) : undefined
}

/**
 * Formats an address in its canonical form (RFC 5952 for IPv6). With an `ipv6Prefix`, formats the network of an IPv6
 * address, such as `2001:db8:1:2::/64`, because one host often owns a whole /64. IPv4 addresses are never shortened.
 */
export function formatAddress(address: Address, ipv6Prefix = 128): string {
  const { family, groups } = address
  if (family === 4) {
    const [high, low] = groups as [number, number]
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  }
  if (ipv6Prefix >= 128 || isSharedNetwork(groups)) return formatGroups(groups)
  return `${formatGroups(cut(groups, ipv6Prefix))}/${ipv6Prefix}`
}

/** Parses and formats an address. IPv4 has only one spelling, so it is returned unchanged. */
export function canonicalAddress(text: string, ipv6Prefix: number): string | undefined {
  if (readIpv4(text, 0, text.length) >= 0) return text
  const address = parseAddress(text)
  return address === undefined ? undefined : formatAddress(address, ipv6Prefix)
}

/** Parses a range such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. Returns undefined for any other text. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const end = slash < 0 ? text.length : slash
  const start = text.slice(0, end)
  if (start.length > MAX_TEXT || /[[\]%]/.test(start)) return undefined
  const address = start.includes(':') ? parseIpv6(start, 0, end) : parseIpv4(start, end)
  if (address === undefined) return undefined
  const { family, groups } = address
  const bits = groups.length * 16
  const digits = text.slice(end + 1)
  if (slash >= 0 && !/^(?:0|[1-9]\d{0,2})$/.test(digits)) return undefined
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8. A prefix below 96 bits would cover IPv4 and IPv6.
  const isMapped = family === 4 && start.includes(':')
  const prefix = slash < 0 ? bits : Number(digits) - (isMapped ? 96 : 0)
  if (prefix < 0 || prefix > bits) return undefined
  return { family, groups: cut(groups, prefix), prefix }
}

/** Whether a range contains an address. */
export function contains(cidr: Cidr, address: Address): boolean {
  if (cidr.family !== address.family) return false
  let bits = cidr.prefix
  for (let i = 0; bits > 0; i++, bits -= 16) {
    const different = cidr.groups[i]! ^ address.groups[i]!
    if (different >> Math.max(0, 16 - bits) !== 0) return false
  }
  return true
}

/** The longest address has 45 characters; the rest is for brackets, a port and a zone. */
const MAX_TEXT = 128

const [COLON, DOT, OPENING_BRACKET, ZERO, NINE] = [0x3a, 0x2e, 0x5b, 0x30, 0x39]

function parseIpv4(text: string, end: number): Address | undefined {
  const value = readIpv4(text, 0, end)
  return value < 0 ? undefined : { family: 4, groups: [value >>> 16, value & 0xffff] }
}

/** Four numbers without leading zeros, which some parsers read as octal; -1 for anything else. */
function readIpv4(text: string, start: number, end: number): number {
  let value = 0
  let at = start
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && (at === end || text.charCodeAt(at++) !== DOT)) return -1
    const first = at
    let number = 0
    for (; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code < ZERO || code > NINE) break
      number = number * 10 + code - ZERO
      if (number > 255 || (at > first && text.charCodeAt(first) === ZERO)) return -1
    }
    if (at === first) return -1
    value = value * 256 + number
  }
  return at === end ? value : -1
}

function parseIpv6(text: string, start: number, textEnd: number): Address | undefined {
  const end = endBeforeZone(text, start, textEnd)
  const groups = [0, 0, 0, 0, 0, 0, 0, 0]
  let count = 0
  /** The index of the group before which `::` inserts zeros. */
  let gap = -1
  let at = start
  if (text.charCodeAt(at) === COLON && text.charCodeAt(at + 1) === COLON) {
    gap = 0
    at += 2
  }
  while (at < end) {
    const first = at
    let group = 0
    for (; at < end; at++) {
      const digit = hexDigit(text.charCodeAt(at))
      if (digit < 0) break
      if (at - first === 4) return undefined
      group = group * 16 + digit
    }
    if (at === first || count === 8) return undefined
    if (at < end && text.charCodeAt(at) === DOT) {
      const value = readIpv4(text, first, end)
      if (value < 0 || count === 7) return undefined
      groups[count++] = value >>> 16
      groups[count++] = value & 0xffff
      break
    }
    groups[count++] = group
    if (at === end) break
    if (text.charCodeAt(at++) !== COLON || at === end) return undefined
    if (text.charCodeAt(at) === COLON) {
      if (gap >= 0) return undefined
      gap = count
      at++
    }
  }
  if (gap < 0 ? count !== 8 : count === 8) return undefined
  if (gap >= 0) {
    for (let to = 7, from = count - 1; from >= gap; to--, from--) {
      groups[to] = groups[from]!
      groups[from] = 0
    }
  }
  return isMappedIpv4(groups) ? { family: 4, groups: [groups[6]!, groups[7]!] } : { family: 6, groups }
}

/** The end of the address: the start of a valid zone, else the end of the text. */
function endBeforeZone(text: string, start: number, end: number): number {
  const at = text.indexOf('%', start)
  return at >= 0 && at < end && /^%[\w.~%-]+$/.test(text.slice(at, end)) ? at : end
}

function isMappedIpv4(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && isZero(groups, 0, 5)
}

/**
 * Networks that many hosts share, so that a prefix would make all of them one client: ::/64 (loopback, old embedded IPv4),
 * 64:ff9b::/96 and 64:ff9b:1::/48 (IPv4 through a translator), 2001::/32 (Teredo) and fe80::/10 (link-local).
 */
function isSharedNetwork(groups: readonly number[]): boolean {
  const [first, second] = groups
  if (first === 0) return isZero(groups, 1, 4)
  if (first === 0x64 && second === 0xff9b) return isZero(groups, 2, 6) || groups[2] === 1
  return (first === 0x2001 && second === 0) || (first! & 0xffc0) === 0xfe80
}

function isZero(groups: readonly number[], start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (groups[i] !== 0) return false
  return true
}

/** The groups with every bit after the prefix set to 0. */
function cut(groups: readonly number[], prefix: number): number[] {
  return groups.map((group, i) => group & (0xffff << Math.min(16, Math.max(0, (i + 1) * 16 - prefix))))
}

/** RFC 5952: lower case, no leading zeros, and `::` for the first of the longest runs of two or more zeros. */
function formatGroups(groups: readonly number[]): string {
  let [gap, gapLength] = [-1, 1]
  for (let i = 0; i < 8; i++) {
    let length = 0
    while (groups[i + length] === 0) length++
    if (length > gapLength) [gap, gapLength] = [i, length]
    i += length
  }
  let text = ''
  for (let i = 0; i < 8; i++) {
    if (i === gap) {
      text += '::'
      i += gapLength - 1
    } else {
      const isFirst = i === 0 || i === gap + gapLength
      text += `${isFirst ? '' : ':'}${groups[i]!.toString(16)}`
    }
  }
  return text
}

/** Whether the text from `at` is a colon and a port. */
function isPort(text: string, at: number): boolean {
  return /^:\d{1,5}$/.test(text.slice(at)) && Number(text.slice(at + 1)) <= 65_535
}

function hexDigit(code: number): number {
  if (code >= ZERO && code <= NINE) return code - ZERO
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
