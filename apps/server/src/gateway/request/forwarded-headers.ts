import type { IncomingHttpHeaders } from 'node:http'
import type { Proxies } from '@tidegate/http'
import type { Peer } from './peer.js'

/*
 * Headers that describe the client to the upstream: `X-Forwarded-*`, or `Forwarded` (RFC 7239) if the configured proxies use
 * it. With both, an application could trust the one that was not verified.
 */

/** Whether a header describes the client. Such headers are never forwarded unchanged. `name` is in lower case. */
export function isAboutClient(name: string): boolean {
  const first = name.charCodeAt(0)
  if (first !== 0x78 && first !== 0x66) return false
  // Some servers read X_Forwarded_For as X-Forwarded-For.
  const dashedName = name.includes('_') ? name.replaceAll('_', '-') : name
  return dashedName === 'forwarded' || dashedName === 'x-real-ip' || dashedName.startsWith('x-forwarded-')
}

/** Adds the forwarding headers, appended to those of a trusted peer. */
export function pushForwarded(
  to: string[],
  { header }: Proxies,
  peer: Peer,
  headers: IncomingHttpHeaders,
): void {
  if (header === 'forwarded') to.push('forwarded', forwardedValue(peer, headers))
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
  const before = headerText(headers, 'x-forwarded-for') ?? headerText(headers, 'x-real-ip')
  to.push(
    'x-forwarded-for',
    before === undefined ? peer.text : `${before}, ${peer.text}`,
    'x-forwarded-proto',
    headerText(headers, 'x-forwarded-proto') ?? peer.protocol,
    'x-forwarded-host',
    headerText(headers, 'x-forwarded-host') ?? host,
    'x-forwarded-port',
    headerText(headers, 'x-forwarded-port') ?? peer.port,
  )
  for (const name in headers) {
    const isMore = name.startsWith('x-forwarded-') && !WRITTEN.has(name)
    if (isMore) to.push(name, headerText(headers, name) ?? '')
  }
}

const WRITTEN: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
])

/** The value `for=192.0.2.1;host="example.com:8000";proto=http`, appended to that of a trusted peer. */
function forwardedValue(peer: Peer, headers: IncomingHttpHeaders): string {
  const by = peer.address?.family === 6 ? `"[${peer.text}]"` : peer.text
  const host = headers.host === undefined ? '' : `;host="${headers.host.replace(/["\\]/g, '\\$&')}"`
  const own = `for=${by}${host};proto=${peer.protocol}`
  const before = peer.isTrusted ? headerText(headers, 'forwarded') : undefined
  return before === undefined ? own : `${before}, ${own}`
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
