import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { BAD_HOST, isHost } from '../http/strict.js'

/** Whether a request came by HTTP/2. What it says of its version proves nothing: in HTTP/1.1 a client can write any. */
export function isHttp2(message: IncomingMessage): boolean {
  return (message as { stream?: unknown }).stream !== undefined
}

/** Whether its headers were all there is of a request of HTTP/2. */
export function endedByHeaders(message: IncomingMessage): boolean {
  const { stream } = message as { stream?: { endAfterHeaders: boolean } }
  return stream?.endAfterHeaders === true
}

/** What Node lets through of HTTP/2, and we do not. After it `host` is what it is elsewhere. */
export function problemOfHttp2({ headers, url = '' }: IncomingMessage): string | undefined {
  const authority = headers[':authority']
  if (headers.host !== undefined && authority !== undefined && headers.host !== authority) {
    return 'Host must be what :authority is, if anything.'
  }
  if (typeof authority === 'string') headers.host ??= authority
  if (headers.host === undefined) return 'There must be an :authority.'
  if (!isHost(headers.host)) return BAD_HOST
  if (url.includes('#')) return 'The path must not have a #; write %23 for one.'
  return /[^\u0021-\u00ff]/.test(url) ? 'The path must be of ASCII characters; escape the others.' : undefined
}

/** Ends an answer so that nobody takes it for the whole. */
export function breakOff(response: ServerResponse): void {
  // Destroyed, it would end as if that were all.
  if (isHttp2(response.req)) streamOf(response).close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}

function streamOf(response: ServerResponse): ServerHttp2Stream {
  return (response as unknown as { stream: ServerHttp2Stream }).stream
}
