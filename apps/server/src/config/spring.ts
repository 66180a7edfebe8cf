import type { ConfigDocument } from './document.js'
import type { Path } from './mistakes.js'

/*
 * What else stands in a file that was written for Spring, and where it belongs here. Nothing of it is passed over in
 * silence: what is used elsewhere would be missed only when it matters.
 */

const REMOVE = 'is not used here; remove it'

/** What to write instead, by the place in Spring's file. */
const INSTEAD: readonly (readonly [path: string, advice: string])[] = [
  ['server', 'is not used here; for its port write gateway: { listen: 8080 }'],
  ['logging', 'is not used here; write log: { level: debug }'],
  ['management', 'is not used here: /actuator is always there; remove it'],
  ['spring.application', REMOVE],
  ['spring.profiles', REMOVE],
  ['spring.main', REMOVE],
  ['spring.config', REMOVE],
  ['spring.data', 'is not used here; for its Redis write store: redis://localhost:6379 at the top'],
  ['spring.redis', 'is not used here; write store: redis://localhost:6379 at the top'],
  ['spring.security', 'is not used here: nobody signs in at this gateway; remove it'],
  [
    'spring.cloud.discovery',
    'is not supported; write the addresses themselves: uri: [http://host1, http://host2]',
  ],
  [
    'spring.cloud.loadbalancer',
    'is not supported; write the addresses themselves: uri: [http://host1, http://host2]',
  ],
]

/** Of what is beside the routes, in each of the two places where they may be. */
const BESIDE_ROUTES: Readonly<Record<string, string>> = {
  discovery: 'is not supported; write a route for each service',
  globalcors: 'is not supported; let the upstreams answer CORS, and remove it',
  httpclient: 'is not used here; write gateway: { connectTimeout: 5s, headersTimeout: 30s }',
  httpserver: 'is not used here; remove it',
  'redis-rate-limiter': 'is not used here; write the numbers into args of each RequestRateLimiter',
  filter: 'is not used here; write what it sets into args of the filters',
  'x-forwarded': 'is not used here: the gateway always writes X-Forwarded headers of its own; remove it',
  forwarded: 'is not used here; remove it',
  'trusted-proxies': 'is not used here; write trustedProxies: [10.0.0.0/8] at the top',
  metrics: 'is not used here: /metrics is always there; remove it',
  enabled: 'is not used here; remove the whole of it to have no gateway',
  'fail-on-route-definition-error': 'is not used here: mistakes always stop the start; remove it',
}

export function noteSpring(document: ConfigDocument): void {
  const note = (path: Path, advice: string) => {
    if (document.at(path) !== undefined) document.wrong(path, advice, 'key')
  }
  for (const [path, advice] of INSTEAD) note(path.split('.'), advice)
  for (const beside of [GATEWAY, [...GATEWAY, 'server', 'webflux']]) {
    for (const [name, advice] of Object.entries(BESIDE_ROUTES)) note([...beside, name], advice)
  }
  note([...GATEWAY, 'mvc'], 'is not supported; write the routes under spring.cloud.gateway.routes')
  note(
    [...GATEWAY, 'server', 'webmvc'],
    'is not supported; write them under spring.cloud.gateway.server.webflux',
  )
  const { value } = document
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    if (!key.startsWith('spring.')) continue
    const steps = key.split('.').join(', then ')
    document.wrong([key], `write each part of it as a key inside the one before: ${steps}`, 'key')
  }
}

export const GATEWAY = ['spring', 'cloud', 'gateway'] as const
