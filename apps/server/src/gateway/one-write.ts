import type { ServerResponse } from 'node:http'

/** What Node keeps of an answer whose head is made and not sent yet. */
interface Internals {
  _header?: unknown
  _headerSent?: unknown
}

/**
 * Ends an answer whose head has its length in it, with all of its body. Node would write twice, the second time nothing, and
 * gather both by writev: that alone takes a fifth of the time of a small request. Behind the head, as a part of its text,
 * the body goes out in one plain write. Where Node is not as we know it, it is ended in the usual way.
 */
export function endInOneWrite(response: ServerResponse, body: Buffer): void {
  const internals = response as Internals
  const { _header: head, _headerSent: isSent } = internals
  if (
    typeof head !== 'string' ||
    !head.endsWith('\r\n\r\n') ||
    isSent !== false ||
    response.chunkedEncoding
  ) {
    response.end(body)
    return
  }
  internals._header = head + body.toString('latin1')
  response.end()
}
