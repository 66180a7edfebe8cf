import type { Policy } from '@tidegate/core'
import { defineProxies, type Proxies, parseCidr, type Rule } from '@tidegate/http'
import { type ConfigError, quote } from '../config-file/config-error.js'
import { readConnections } from '../config-file/connection-limits.js'
import type { ConfigDocument } from '../config-file/document.js'
import { optionOf } from '../config-file/options.js'
import { type GatewayConfig, readGateway } from '../gateway/config/gateway-config.js'
import type { ConnectionLimits } from '../http/connection-guard.js'
import type { RequestLimits } from '../http/request-limits.js'
import type { LinearRegExp } from '../linear-regexp.js'
import { readRls } from '../rls/config/read-rls.js'
import type { RlsConfig } from '../rls/config/rls-config.js'
import type { Overrides } from './overrides.js'
import { type Caller, readCallers } from './sections/callers.js'
import { readKeyPattern } from './sections/key-pattern.js'
import { type Origins, readOrigins } from './sections/origins.js'
import { policyAt, readPolicies, readSecretKeys } from './sections/policies.js'
import { readRules } from './sections/rules.js'
import { readStore, type StoreConfig } from './sections/store.js'

/** The validated configuration of the service, with defaults. It is frozen. */
export interface Config {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly store: StoreConfig
  /** Undefined: a token is generated at each start. */
  readonly adminToken: string | undefined
  /** Empty: every client that can reach the port may check keys. */
  readonly callers: readonly Caller[]
  readonly connections: ConnectionLimits
  /** Host names that requests may be sent to, in lower case. Empty: see `api/request/foreign-pages.ts`. */
  readonly allowedHosts: ReadonlySet<string>
  /** The pattern that a whole key must match; undefined: any key. */
  readonly keyPattern: LinearRegExp | undefined
  /** By name, the built-in ones first. */
  readonly policies: ReadonlyMap<string, Policy>
  /** Names of policies whose keys are shown as hashes only. */
  readonly secretKeys: ReadonlySet<string>
  /** For checks without a policy. */
  readonly defaultPolicy: Policy
  readonly rules: readonly Rule[]
  readonly origins: Origins
  readonly proxies: Proxies
  /** Undefined: no gateway is configured. */
  readonly gateway: GatewayConfig | undefined
  /** The rate limit service for Envoy. Undefined: it is not configured. */
  readonly rls: RlsConfig | undefined
  readonly health: { readonly statusWhenStoreIsDown: 200 | 503 }
  readonly log: { readonly level: LogLevel }
  readonly limits: RequestLimits & { readonly responseTimeoutMs: number }
  readonly notices: Notices
}

/** Notices about a file that is valid. */
interface Notices {
  /** Features of the file that do not work here. */
  readonly warnings: readonly ConfigError[]
  /** Names of options that have no meaning for a gateway. */
  readonly unused: readonly string[]
  /** The active profiles; undefined if it is not a Spring file. */
  readonly profiles: readonly string[] | undefined
}

type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Reads the configuration of a file that matches the schema. The result must not be used if the file has errors. */
export function readConfig(document: ConfigDocument, overrides: Overrides): Omit<Config, 'notices'> {
  const option = optionOf(document)
  const adminToken = overrides.adminToken ?? option.textIfAny('adminToken')
  const policies = readPolicies(document)
  const limits = readLimits(document)
  const rules = readRules(document, policies)
  const defaultPolicy = readDefault(document, policies)
  const port = overrides.port ?? readPort(document)
  const store = readStore(document, overrides.store)
  const gateway = readGateway(document, { policies, rules, defaultPolicy, port })
  if (store.kind === 'memory' && document.profiles !== undefined) warnOfMemory(document, gateway)
  const host = overrides.host ?? option.text('host')
  return Object.freeze({
    host,
    port,
    store,
    adminToken,
    callers: Object.freeze(readCallers(document, policies, adminToken)),
    connections: readConnections(document, []),
    allowedHosts: readAllowedHosts(document),
    keyPattern: readKeyPattern(document),
    policies,
    secretKeys: readSecretKeys(document),
    defaultPolicy,
    rules: Object.freeze(rules),
    origins: readOrigins(document),
    proxies: readProxies(document),
    gateway,
    rls: readRls(document, overrides.rls ?? {}, { host, port }),
    health: Object.freeze({
      statusWhenStoreIsDown: option.wholeNumber('health', 'statusWhenStoreIsDown') as 200 | 503,
    }),
    log: Object.freeze({ level: option.text('log', 'level') as LogLevel }),
    limits,
  })
}

/** In Spring, several gateways share their limits in Redis. */
function warnOfMemory(document: ConfigDocument, gateway: GatewayConfig | undefined): void {
  if (document.at(['store']) !== undefined || !gateway?.routes.some(({ limits }) => limits.limits.length > 0))
    return
  document.addWarning(
    [],
    'no Redis is configured, so each process counts alone; add spring.data.redis, or write store: memory to count in memory',
  )
}

/** The port of a Spring file is for the gateway: the service uses `management.server.port`, or another port. */
function readPort(document: ConfigDocument): number {
  const port = optionOf(document).wholeNumber('port')
  if (document.at(['port']) !== undefined) return port
  const path = ['management', 'server', 'port']
  const management = document.isValid(path) ? document.at(path) : undefined
  if (management !== undefined) return management as number
  return document.at(['server', 'port']) === port ? port + 1000 : port
}

function readDefault(document: ConfigDocument, policies: ReadonlyMap<string, Policy>): Policy {
  if (document.at(['default']) !== undefined) return policyAt(document, ['default'], policies)
  return policies.get(optionOf(document).text('default'))!
}

function readProxies(document: ConfigDocument): Proxies {
  const option = optionOf(document)
  const entries = document.at(['trustedProxies'])
  const trusted: string[] = []
  for (const [i, entry] of (Array.isArray(entries) ? entries : []).entries()) {
    const path = ['trustedProxies', i]
    if (typeof entry !== 'string' || !document.isValid(path)) continue
    if (parseCidr(entry) !== undefined) trusted.push(entry)
    else
      document.addError(
        path,
        `${quote(entry)} is not an IP address or CIDR range; write for example 10.0.0.0/8 or ::1`,
      )
  }
  return defineProxies({
    trusted,
    header: option.text('forwardedHeader') as Proxies['header'],
    ipv6Prefix: option.wholeNumber('ipv6Prefix'),
  })
}

function readAllowedHosts(document: ConfigDocument): ReadonlySet<string> {
  const names = document.isValid(['allowedHosts']) ? document.at(['allowedHosts']) : undefined
  return new Set((Array.isArray(names) ? (names as string[]) : []).map((name) => name.toLowerCase()))
}

function readLimits(document: ConfigDocument): Config['limits'] {
  const option = optionOf(document)
  const limits = Object.freeze({
    maxHeaderBytes: option.wholeNumber('limits', 'maxHeaderBytes'),
    headersTimeoutMs: option.durationMs(['limits', 'headersTimeout']),
    requestTimeoutMs: option.durationMs(['limits', 'requestTimeout']),
    responseTimeoutMs: option.durationMs(['limits', 'responseTimeout']),
    keepAliveTimeoutMs: option.durationMs(['limits', 'keepAliveTimeout']),
    stopTimeoutMs: option.durationMs(['limits', 'stopTimeout'], { minMs: 0 }),
  })
  if (document.isValid(['limits']) && limits.headersTimeoutMs > limits.requestTimeoutMs) {
    document.addError(
      ['limits', 'headersTimeout'],
      `must be at most requestTimeout (${limits.requestTimeoutMs} ms), which includes it, got ${limits.headersTimeoutMs} ms`,
    )
  }
  return limits
}
