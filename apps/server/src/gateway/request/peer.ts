import type { Socket } from 'node:net'
import { type Address, contains, formatAddress, type Proxies, parseAddress } from '@tidegate/http'

/** The other end of a connection, computed once per connection. */
export interface Peer {
  readonly address: Address | undefined
  /** The address in canonical form. */
  readonly text: string
  /** Whether it is a trusted proxy, whose forwarding headers are used. */
  readonly isTrusted: boolean
  readonly protocol: 'http' | 'https'
  /** The local port. */
  readonly port: string
}

/** Returns a lookup that caches the peer of each connection. */
export function peerFinder(proxies: Proxies): (socket: Socket) => Peer {
  const peers = new WeakMap<Socket, Peer>()
  return (socket) => {
    let peer = peers.get(socket)
    if (peer === undefined) {
      peer = peerOf(proxies, socket)
      peers.set(socket, peer)
    }
    return peer
  }
}

function peerOf(proxies: Proxies, socket: Socket): Peer {
  const { remoteAddress, localPort } = socket
  const address = remoteAddress === undefined ? undefined : parseAddress(remoteAddress)
  return {
    address,
    text: address === undefined ? 'unknown' : formatAddress(address),
    isTrusted: address !== undefined && proxies.trusted.some((range) => contains(range, address)),
    protocol: (socket as { encrypted?: boolean }).encrypted === true ? 'https' : 'http',
    port: String(localPort ?? ''),
  }
}
