import { nearestWords } from '@tidegate/core'
import { type Path, quote } from '../../config-file/config-error.js'
import type { UnusedOption } from '../../config-file/dialect.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { relaxedName } from '../../spring-file/names.js'
import { SECTIONS } from '../../spring-file/spring-dialect.js'

/*
 * Options of a Spring file that are not read. Most have no meaning for a gateway and are only listed. An option that would
 * protect the upstreams is a warning. A misspelled option of the gateway is an error.
 */

const GATEWAY = ['spring', 'cloud', 'gateway'] as const

/** The places of routes in a Spring file. */
export const SPRING_PLACES: readonly Path[] = [GATEWAY, [...GATEWAY, 'server', 'webflux']]

const NO_SIGN_IN =
  'has no effect: the gateway does not authenticate requests; check that the upstreams reject requests without credentials'
const NO_LIMIT =
  'has no effect: these limits are not read; write them as filters of the routes, such as RequestRateLimiter'
const NOT_READ = 'is not read; write its routes and filters into this file'

/** Warnings by the path of the option. They also apply to all options inside it. */
const WARNINGS: readonly (readonly [path: string, warning: string])[] = [
  ['spring.security', NO_SIGN_IN],
  ['spring.config.import', NOT_READ],
  ['SPRING_CONFIG_IMPORT', NOT_READ],
  ['SPRING_APPLICATION_JSON', NOT_READ],
  ['spring.cloud.config', NOT_READ],
  ['spring.cloud.sentinel', NO_LIMIT],
  ['resilience4j.ratelimiter', NO_LIMIT],
  ['resilience4j.bulkhead', NO_LIMIT],
  ['bucket4j', NO_LIMIT],
  ['server.ssl', 'is not supported; write gateway: { listen: { tls: { certFile, keyFile } } }'],
  [
    'server.servlet.context-path',
    'has no effect: routes are for whole paths; write it into their predicates',
  ],
  ['spring.webflux.base-path', 'has no effect: routes are for whole paths; write it into their predicates'],
]

/** Warnings about options next to the routes, in each of their places. */
const NEXT_TO_ROUTES: Readonly<Record<string, string>> = {
  'discovery.locator.enabled':
    'has no effect: only the routes of the file are used; write a route for each service',
  'redis-rate-limiter': 'has no effect; write the numbers into args of each RequestRateLimiter',
  filter: 'has no effect; write its options into args of the filters',
  'trusted-proxies': 'has no effect: no proxy is trusted; write trustedProxies: [10.0.0.0/8] at the top',
  'httpclient.ssl':
    'has no effect: certificates of upstreams are always verified with the certificate authorities of the system',
  'httpclient.proxy': 'has no effect: upstreams are reached directly',
}

/** Names of sections that look like limits or like authentication of any library. */
const LIMIT_NAME = /rate-?_?limit|throttl|quota/i
const SIGN_IN_NAME = /^(jwt|auth|oauth2?|secur\w*|sa-token|shiro|keycloak|cas)$/i

/** Reports the unused options of a Spring file, and returns the names of those that do not matter. */
export function reportUnused(document: ConfigDocument): string[] {
  const names: string[] = []
  for (const option of document.unused) {
    const { path, offset = 'none' } = option
    const error = errorOf(document, option)
    const warning = warningOf(option)
    if (error !== undefined) document.addError(path, error, offset)
    else if (warning !== undefined) document.addWarning(path, warning, offset)
    else names.push(nameOf(path))
  }
  return names
}

/** Reports sections of Spring in a file that is not a Spring file. */
export function reportSpringSections(document: ConfigDocument): void {
  const report = (name: string, problem: string) => {
    if (document.at([name]) !== undefined) document.addError([name], problem, 'key')
  }
  report(
    'server',
    'is only used in files with a spring section; for the port of the gateway write gateway: { listen: 8080 }',
  )
  report('logging', 'is not used here; write log: { level: debug }')
  report('management', 'is not used here: /actuator is always available; remove it')
  report('resilience4j', 'is only used in files with a spring section; remove it')
}

function errorOf(document: ConfigDocument, { path }: UnusedOption): string | undefined {
  const subpath = placeIn(path)
  if (/^SPRING_CLOUD_GATEWAY_/.test(String(path[0]))) {
    return 'is an environment variable: routes and filters in the environment are not read; write them into this file, and unset the variable'
  }
  if (path.length === 1) {
    const suggestion = nearSection(document, String(path[0]))
    return suggestion && `unknown option; did you mean ${quote(suggestion)}?`
  }
  if (subpath === undefined) {
    const suggestion = nearPlace(path)
    return suggestion && `unknown option; did you mean ${quote(suggestion)}?`
  }
  if (subpath[0] === 'mvc' || subpath.join('.') === 'server.webmvc') {
    return 'is not supported; write the routes under spring.cloud.gateway.server.webflux'
  }
  if (subpath.length === 1 && (subpath[0] === 'filters' || subpath[0] === 'predicates')) {
    const defaults = subpath[0] === 'filters' ? '; for all routes, write default-filters' : ''
    return `unknown option; write it into a route${defaults}`
  }
  const parent = document.schemaAt(path.slice(0, -1))
  const options = Object.keys(parent?.properties ?? {})
  const name = String(path.at(-1))
  if (Object.keys(NEXT_TO_ROUTES).some((start) => isInside(subpath, start))) return undefined
  const suggestion = misspelledOption(name, options)
  return suggestion && `unknown option; did you mean ${quote(suggestion)}?`
}

function warningOf({ path, value, keys }: UnusedOption): string | undefined {
  const entry = WARNINGS.find(([start]) => isInside(path, start))
  if (entry !== undefined) return entry[1]
  const subpath = placeIn(path)
  if (subpath !== undefined) {
    // A disabled feature has no effect in Spring either.
    if (subpath.at(-1) === 'enabled' && value === false) return undefined
    return Object.entries(NEXT_TO_ROUTES).find(([start]) => isInside(subpath, start))?.[1]
  }
  // Names of loggers and of metrics are not options.
  const isAboutNames = path[0] === 'logging' || path[0] === 'management'
  if (!isAboutNames && [String(path.at(-1)), ...keys].some((name) => LIMIT_NAME.test(name))) return NO_LIMIT
  return path.length === 1 && SIGN_IN_NAME.test(String(path[0])) ? NO_SIGN_IN : undefined
}

/** Whether a path begins with a dotted name, in any spelling. */
function isInside(path: Path, start: string): boolean {
  const steps = start.split('.')
  return steps.every((step, i) => relaxedName(step) === relaxedName(String(path[i] ?? '')))
}

/** The part of a path below a place of routes; undefined outside of these. */
function placeIn(path: Path): Path | undefined {
  const inside = GATEWAY.every((step, i) => path[i] === step) ? path.slice(GATEWAY.length) : undefined
  const isNewer = inside?.[0] === 'server' && inside[1] === 'webflux'
  return isNewer ? inside.slice(2) : inside
}

/** Top-level sections of applications whose names are similar to sections of this schema. */
const FOREIGN = [
  'app',
  'apps',
  'host',
  'hosts',
  'ports',
  'service',
  'services',
  'test',
  'rest',
  'role',
  'roles',
  'stores',
]

/** The section that a name misspells. It is an error, because it would otherwise be ignored as one of the application. */
function nearSection(document: ConfigDocument, name: string): string | undefined {
  if (FOREIGN.includes(name)) return undefined
  const own = Object.keys(document.schemaAt([])?.properties ?? {}).filter((key) => !SECTIONS.includes(key))
  return misspelledOption(name, own)
}

/** The name that the end of a path misspells, if it should lead to the routes: these would otherwise be ignored. */
function nearPlace(path: Path): string | undefined {
  const depth = path.length - 1
  const isOnTheWay = depth < GATEWAY.length && path.slice(0, depth).every((step, i) => step === GATEWAY[i])
  return isOnTheWay ? misspelledOption(String(path[depth]), [GATEWAY[depth]!]) : undefined
}

/** The option that a name misspells. Names that only begin alike are different names. */
function misspelledOption(name: string, options: readonly string[]): string | undefined {
  return nearestWords(name, options).find((near) => {
    const difference = Math.abs(near.length - name.length)
    const isBeginning = near.startsWith(name) || name.startsWith(near)
    return difference <= (isBeginning ? 1 : 2)
  })
}

/** The name of an unused option, such as `spring.application`. */
function nameOf(path: Path): string {
  return path[0] === 'document for profile' ? `the document for profile ${path[1]}` : path.join('.')
}
