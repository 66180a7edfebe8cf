import type { IncomingMessage } from 'node:http'

/** What Node's parser lets through and we do not; a target with a host in it loses that. */
export function problemOf(request: IncomingMessage): string | undefined {
  const { url = '', headers, httpVersionMajor, httpVersionMinor } = request
  if (httpVersionMajor !== 1) return 'The request line must end with HTTP/1.1.'
  const hosts = hostsIn(request.rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return 'There must be one Host header.'
  if (!isHost(headers.host ?? '')) return BAD_HOST
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && encoding !== 'chunked')
    return 'Transfer-Encoding must be chunked, if anything.'
  // Others would read such a body up to the end of the connection, or not at all.
  if (encoding !== undefined && httpVersionMinor === 0) return 'Transfer-Encoding needs HTTP/1.1.'
  if (url.includes('#')) return 'The path must not have a #; write %23 for one.'
  if (url.charCodeAt(0) !== 0x2f) request.url = url.replace(/^https?:\/\/[^/?#]+\/?/i, '/')
  return undefined
}

export const BAD_EXPECTATION = 'Expect must be 100-continue, if anything.'

/** Whether a request asks for something before its body that nobody knows. In HTTP/1.0 it has no meaning, whatever it says. */
export function hasBadExpectation({ headers: { expect }, httpVersion }: IncomingMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)
}

export const BAD_HOST = 'Host must be a name or an address, perhaps with a port.'

/** Escapes are legal, and nobody's: a piece of it may become a piece of a path, where `%2e%2e` is the way up. */
export function isHost(text: string): boolean {
  return /^[\w.~!$&'()*+,;=:[\]-]*$/.test(text)
}

/** Node would take the first, and others the last. */
function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') hosts++
  }
  return hosts
}
