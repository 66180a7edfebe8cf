import type { AddressInfo } from 'node:net'

/** The URL of a server for local clients. A wildcard address becomes loopback. */
export function urlOf({ address, port }: AddressInfo, protocol: 'http' | 'https' = 'http'): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
