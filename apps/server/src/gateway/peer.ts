import type { Socket } from 'node:net'
import { type Address, contains, formatAddress, type Proxies, parseAddress } from '@tidegate/http'

/** Who is at the other end of a connection: the same for all its requests, so it is found out once. */
export interface Peer {
  readonly address: Address | undefined
  /** One text for all spellings of it. */
  readonly text: string
  /** Whether its word counts about whom it speaks for. */
  readonly isTrusted: boolean
  readonly protocol: 'http' | 'https'
  /** Ours, which it has connected to. */
  readonly port: string
}

/** Remembers peers for as long as their connections live. */
export function peersBy(proxies: Proxies): (socket: Socket) => Peer {
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
