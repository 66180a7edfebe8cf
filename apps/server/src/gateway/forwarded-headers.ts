import type { IncomingHttpHeaders } from 'node:http'
import type { Proxies } from '@tidegate/http'
import type { Peer } from './peer.js'

/*
 * What the upstream is told about the client. Either `X-Forwarded-*` or `Forwarded` (RFC 7239), whichever the proxies in
 * front are configured to use: of two that disagree, an application might believe the one that nobody has checked.
 */

/** Whether a header is about whom a request comes from: such are never passed on as they are. `name` in lower case. */
export function isAboutClient(name: string): boolean {
  const first = name.charCodeAt(0)
  if (first !== 0x78 && first !== 0x66) return false
  // Some servers cannot tell `_` from `-`: X_Forwarded_For would be a way around.
  const plain = name.includes('_') ? name.replaceAll('_', '-') : name
  return plain === 'forwarded' || plain === 'x-real-ip' || plain.startsWith('x-forwarded-')
}

/** Adds ours, behind what a trusted peer has said. */
export function pushForwarded(
  to: string[],
  { header }: Proxies,
  peer: Peer,
  headers: IncomingHttpHeaders,
): void {
  if (header === 'forwarded') to.push('forwarded', forwarded(peer, headers))
  else pushXForwarded(to, peer, headers)
}

function pushXForwarded(to: string[], peer: Peer, headers: IncomingHttpHeaders): void {
  const host = headers.host ?? ''
  if (!peer.isTrusted) {
    to.push('x-forwarded-for', peer.text, 'x-forwarded-proto', peer.protocol)
    if (host !== '') to.push('x-forwarded-host', host)
    to.push('x-forwarded-port', peer.port)
    return
  }
  const before = said(headers, 'x-forwarded-for') ?? said(headers, 'x-real-ip')
  to.push(
    'x-forwarded-for',
    before === undefined ? peer.text : `${before}, ${peer.text}`,
    'x-forwarded-proto',
    said(headers, 'x-forwarded-proto') ?? peer.protocol,
    'x-forwarded-host',
    said(headers, 'x-forwarded-host') ?? host,
    'x-forwarded-port',
    said(headers, 'x-forwarded-port') ?? peer.port,
  )
  for (const name in headers) {
    const isMore = name.startsWith('x-forwarded-') && !WRITTEN.has(name)
    if (isMore) to.push(name, said(headers, name) ?? '')
  }
}

const WRITTEN: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
])

/** `for=192.0.2.1;host="example.com:8000";proto=http`, behind what was there. */
function forwarded(peer: Peer, headers: IncomingHttpHeaders): string {
  const by = peer.address?.family === 6 ? `"[${peer.text}]"` : peer.text
  const host = headers.host === undefined ? '' : `;host="${headers.host.replace(/["\\]/g, '\\$&')}"`
  const own = `for=${by}${host};proto=${peer.protocol}`
  const before = peer.isTrusted ? said(headers, 'forwarded') : undefined
  return before === undefined ? own : `${before}, ${own}`
}

function said(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
