import type { PredicatePart } from '../predicate.js'
import { Cookie } from './cookie.js'
import { Header } from './header.js'
import { Host } from './host.js'
import { Method } from './method.js'
import { Path } from './path.js'
import { Query } from './query.js'
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

/** What Spring has besides, and what to do without it. */
export const UNSUPPORTED_PREDICATES: Readonly<Record<string, string>> = {
  XForwardedRemoteAddr: 'use RemoteAddr, which looks through the trustedProxies of the file',
  CloudFoundryRouteService: 'remove it',
  ReadBody: 'bodies are passed on unread; remove it',
  Version: 'use Header, Query or Path',
}
