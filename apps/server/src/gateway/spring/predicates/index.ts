import type { PredicatePart } from '../predicate.js'
import { Cookie } from './cookie.js'
import { Header } from './header.js'
import { Host } from './host.js'
import { Method } from './method.js'
import { Path } from './path.js'
import { Query } from './query-param.js'
import { RemoteAddr } from './remote-addr.js'
import { After, Before, Between } from './times.js'
import { Weight } from './weight.js'

export const PREDICATES: Readonly<Record<string, PredicatePart>> = {
  Path,
  Method,
  Host,
  Header,
  Query,
  Cookie,
  RemoteAddr,
  Weight,
  After,
  Before,
  Between,
}

/** Predicates of Spring that are not supported, and what to use instead. */
export const UNSUPPORTED_PREDICATES: Readonly<Record<string, string>> = {
  XForwardedRemoteAddr: 'use RemoteAddr, which respects trustedProxies',
  CloudFoundryRouteService: 'there is no Cloud Foundry router; remove it',
  ReadBody: 'bodies are forwarded unread; remove it',
  Version: 'use Header, Query or Path',
}
