import { optionInvalid, show } from '@tidegate/core'
import type { RequestFacts } from '../request.js'
import { canonicalAddress } from './address.js'
import { clientIp, defineProxies, type Proxies, type ProxiesOptions } from './proxies.js'

/**
 * The framework's own proxy setting for one request: the number of proxies, or the client address that the framework found.
 * `isGuess` is true if the setting trusts every proxy, so that one proxy is assumed.
 */
export type FrameworkProxies =
  | { readonly hops: number; readonly isGuess?: boolean }
  | { readonly client: string | undefined }

/** Finds the client's address from the connection's address, the headers and the framework's proxy setting. */
export type FindIp = (
  peer: string | undefined,
  facts: Pick<RequestFacts, 'header'>,
  framework?: FrameworkProxies | undefined,
) => string | undefined

/** Reports requests that suggest a wrong proxy setting. */
export interface ProxyWarnings {
  /** Reports a request with a forwarding header although no proxy is trusted. */
  reportForwardedUntrusted(facts: Pick<RequestFacts, 'header'>): void
  /** Reports that the framework trusts every proxy, so the number of proxies was guessed. */
  reportProxiesGuessed(facts: Pick<RequestFacts, 'header'>): void
}

/** Creates the lookup of the client's address. `proxies` overrides the framework's setting if it has `trusted` or `hops`. */
export function defineFindIp(options: ProxiesOptions | undefined, warnings: ProxyWarnings): FindIp {
  const proxies = defineProxies(options)
  const isExplicit = options?.trusted !== undefined || options?.hops !== undefined
  const isAnyTrusted = proxies.trusted.length > 0 || proxies.hops > 0

  return (peer, facts, framework) => {
    if (peer !== undefined && typeof peer !== 'string') {
      const message = `peer must return the address as a string, not a promise, got ${show(peer)}. Write for example peer: (request) => request.headers.get('x-real-ip').`
      throw optionInvalid('peer', message)
    }
    const header = (name: string) => facts.header(name)
    if (isExplicit || framework === undefined) {
      if (!isAnyTrusted) warnings.reportForwardedUntrusted(facts)
      return clientIp(proxies, peer, header)
    }
    if ('hops' in framework) {
      if (framework.isGuess === true) warnings.reportProxiesGuessed(facts)
      return clientIp(withHops(proxies, framework.hops), peer, header)
    }
    const { client } = framework
    const found = client === undefined ? undefined : canonicalAddress(client, proxies.ipv6Prefix)
    return found ?? clientIp(proxies, peer, header)
  }
}

function withHops(proxies: Proxies, hops: number): Proxies {
  return { ...proxies, hops }
}
