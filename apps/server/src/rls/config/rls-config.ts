import type { ConnectionLimits } from '../../http/connection-guard.js'
import type { PolicyTerms } from '../limits/define-rule.js'

/** Options of the rate limit service for Envoy. */
export interface RlsConfig {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Files and folders with limits. */
  readonly files: readonly string[]
  /** Undefined: without TLS. */
  readonly tls: RlsTls | undefined
  readonly connections: ConnectionLimits
  readonly settings: RlsSettings
}

export interface RlsTls {
  readonly certFile: string
  readonly keyFile: string
  /** Clients must have a certificate issued by this authority. Undefined: clients need none. */
  readonly clientCaFile: string | undefined
}

export interface RlsSettings {
  /** The names of the headers to add to responses; undefined adds none. */
  readonly responseHeaders: HeaderNames | undefined
  readonly dynamicMetadata: boolean
  /** Whether every request is allowed, and only counted. */
  readonly shadowMode: boolean
  /** Whether every rule is in quota mode. */
  readonly quotaMode: boolean
  readonly mergeDomains: boolean
  /** Hits above this fraction of a limit count as near the limit. */
  readonly nearLimitRatio: number
  readonly onStoreFailure: 'error' | 'open' | 'closed' | 'local'
  readonly instances: number
}

export interface HeaderNames {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

/** Options of the policies. `error` is `closed` here: the denial becomes a gRPC error, and Envoy's `failure_mode_deny` decides. */
export function policyTerms({
  onStoreFailure,
  instances,
}: Pick<RlsSettings, 'onStoreFailure' | 'instances'>): PolicyTerms {
  return { onStoreFailure: onStoreFailure === 'error' ? 'closed' : onStoreFailure, instances }
}
