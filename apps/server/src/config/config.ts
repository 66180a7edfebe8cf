import type { Policy } from '@tidegate/core'
import { defineProxies, type Proxies, parseCidr, type Rule } from '@tidegate/http'
import type { ConnectionLimits } from '../connections.js'
import type { LinearRegExp } from '../linear-regexp.js'
import { type Caller, readCallers } from './callers.js'
import { readConnections } from './connections.js'
import type { ConfigDocument } from './document.js'
import { type GatewayConfig, readGateway } from './gateway.js'
import { readKeyPattern } from './key-pattern.js'
import { quoted } from './mistakes.js'
import { optionOf } from './options.js'
import { type Origins, readOrigins } from './origins.js'
import type { Overrides } from './overrides.js'
import { policyAt, readPolicies, readSecretKeys } from './policies.js'
import { readRules } from './rules.js'
import { readStore, type StoreConfig } from './store.js'

/** Everything the service needs to know, checked and with its defaults; nothing in it changes. */
export interface Config {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly store: StoreConfig
  /** Undefined: each start generates one. */
  readonly adminToken: string | undefined
  /** Empty: every client that can reach the port may check. */
  readonly callers: readonly Caller[]
  readonly connections: ConnectionLimits
  /** Host names that requests may be sent to, in lower case. Empty: see `api/foreign-pages.ts`. */
  readonly allowedHosts: ReadonlySet<string>
  /** What a key must match, as a whole. */
  readonly keyPattern: LinearRegExp | undefined
  /** By name, the built-in ones first. */
  readonly policies: ReadonlyMap<string, Policy>
  /** Names of policies whose keys are shown as hashes only. */
  readonly secretKeys: ReadonlySet<string>
  /** Of a check that names no policy. */
  readonly defaultPolicy: Policy
  readonly rules: readonly Rule[]
  readonly origins: Origins
  readonly proxies: Proxies
  /** Undefined: there is none. */
  readonly gateway: GatewayConfig | undefined
  readonly health: { readonly statusWhenStoreIsDown: 200 | 503 }
  readonly log: { readonly level: LogLevel }
  readonly limits: {
    readonly maxHeaderBytes: number
    readonly headersTimeoutMs: number
    readonly requestTimeoutMs: number
    readonly responseTimeoutMs: number
    readonly keepAliveTimeoutMs: number
    readonly stopTimeoutMs: number
  }
}

type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** What a file of the right shape means. Of a file with mistakes, the result means nothing. */
export function readConfig(document: ConfigDocument, overrides: Overrides): Config {
  const option = optionOf(document)
  const adminToken = overrides.adminToken ?? option.textIfAny('adminToken')
  const policies = readPolicies(document)
  const limits = readLimits(document)
  const rules = readRules(document, policies)
  const defaultPolicy = readDefault(document, policies)
  const port = overrides.port ?? option.whole('port')
  return Object.freeze({
    host: overrides.host ?? option.text('host'),
    port,
    store: readStore(document, overrides.store),
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
    gateway: readGateway(document, { policies, rules, defaultPolicy, port }),
    health: Object.freeze({
      statusWhenStoreIsDown: option.whole('health', 'statusWhenStoreIsDown') as 200 | 503,
    }),
    log: Object.freeze({ level: option.text('log', 'level') as LogLevel }),
    limits,
  })
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
    if (typeof entry !== 'string' || !document.isRight(path)) continue
    if (parseCidr(entry) !== undefined) trusted.push(entry)
    else
      document.wrong(path, `${quoted(entry)} is no address and no range; write for example 10.0.0.0/8 or ::1`)
  }
  return defineProxies({
    trusted,
    header: option.text('forwardedHeader') as Proxies['header'],
    ipv6Prefix: option.whole('ipv6Prefix'),
  })
}

function readAllowedHosts(document: ConfigDocument): ReadonlySet<string> {
  const names = document.isRight(['allowedHosts']) ? document.at(['allowedHosts']) : undefined
  return new Set((Array.isArray(names) ? (names as string[]) : []).map((name) => name.toLowerCase()))
}

function readLimits(document: ConfigDocument): Config['limits'] {
  const option = optionOf(document)
  const limits = Object.freeze({
    maxHeaderBytes: option.whole('limits', 'maxHeaderBytes'),
    headersTimeoutMs: option.durationMs(['limits', 'headersTimeout']),
    requestTimeoutMs: option.durationMs(['limits', 'requestTimeout']),
    responseTimeoutMs: option.durationMs(['limits', 'responseTimeout']),
    keepAliveTimeoutMs: option.durationMs(['limits', 'keepAliveTimeout']),
    stopTimeoutMs: option.durationMs(['limits', 'stopTimeout'], { minMs: 0 }),
  })
  if (document.isRight(['limits']) && limits.headersTimeoutMs > limits.requestTimeoutMs) {
    document.wrong(
      ['limits', 'headersTimeout'],
      'must not be longer than requestTimeout, which it is a part of',
    )
  }
  return limits
}
