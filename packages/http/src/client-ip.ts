import { show, TidegateError } from '@tidegate/core'
import { canonicalAddress } from './address.js'
import type { Misuse } from './misuse.js'
import { clientIp, defineProxies, type Proxies, type ProxiesOptions } from './proxies.js'
import type { RequestFacts } from './request.js'

/**
 * The framework's own proxy setting for one request: the number of proxies in front, or the client that the framework
 * found. `isGuess` says that the setting trusts every proxy, so that one proxy is assumed.
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

/** The option `proxies` wins over the framework's setting if it names proxies. */
export function defineFindIp(options: ProxiesOptions | undefined, misuse: Misuse): FindIp {
  const proxies = defineProxies(options)
  const isExplicit = options?.trusted !== undefined || options?.hops !== undefined
  const isAnyTrusted = proxies.trusted.length > 0 || proxies.hops > 0

  return (peer, facts, framework) => {
    if (peer !== undefined && typeof peer !== 'string') {
      const message = `peer must return the address as text, not a promise, got ${show(peer)}.`
      throw new TidegateError('OPTION_INVALID', message, { field: 'peer' })
    }
    const header = (name: string) => facts.header(name)
    if (isExplicit || framework === undefined) {
      if (!isAnyTrusted) misuse.forwardedUntrusted(facts)
      return clientIp(proxies, peer, header)
    }
    if ('hops' in framework) {
      if (framework.isGuess === true) misuse.proxiesGuessed(facts)
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
