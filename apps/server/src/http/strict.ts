import type { IncomingMessage } from 'node:http'
import { show } from '@tidegate/core'

/** Finds problems that Node's parser accepts. Also removes the host from an absolute request target. */
export function problemOf(request: IncomingMessage): string | undefined {
  const { url = '', headers, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1) return 'The protocol version must be HTTP/1.1.'
  const hosts = hostsIn(request.rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0))
    return 'The request must have exactly one Host header.'
  if (!isHost(headers.host ?? '')) return BAD_HOST
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding !== 'chunked')
    return `Transfer-Encoding must be chunked, got ${show(encoding)}.`
  // Other servers read such a body to the end of the connection, or not at all.
  if (encoding !== undefined && httpVersionMinor === 0) return 'Transfer-Encoding requires HTTP/1.1.'
  if (url.includes('#')) return 'The path must not contain #; send %23 instead.'
  if (url.charCodeAt(0) !== 0x2f) request.url = url.replace(/^https?:\/\/[^/?#]+\/?/i, '/')
  return undefined
}

export const BAD_EXPECTATION = 'Expect must be 100-continue, or must not be sent.'

/** Whether the Expect header has an unknown expectation. HTTP/1.0 ignores the header. */
export function hasBadExpectation({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)
}

export const BAD_HOST = 'Host must be a host name or an address, such as example.com or 192.0.2.1:8080.'

/** Whether a text is a host. Percent-encoding is not accepted: in a path that contains the host, `%2e%2e` would be `..`. */
export function isHost(text: string): boolean {
  return /^[\w.~!$&'()*+,;=:[\]-]*$/.test(text)
}

/** Counts Host headers: Node uses the first, other servers the last. */
function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') hosts++
  }
  return hosts
}
