import type { AddressInfo } from 'node:net'

/** Where a server can be asked from this machine: an address for all is none to ask at. */
export function urlOf({ address, port }: AddressInfo, protocol: 'http' | 'https' = 'http'): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
