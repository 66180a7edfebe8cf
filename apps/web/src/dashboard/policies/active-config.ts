import type { CalendarUnit } from '../../simulation/windows.js'

/** The response of `/api/v1/admin/policies`. */
export interface ActiveConfig {
  readonly default: string
  readonly policies: readonly Policy[]
  readonly rules: readonly Rule[]
  readonly routes: readonly Route[]
  readonly lastReload: Reload | null
}

export interface Policy {
  readonly name: string
  readonly algorithm: string
  readonly limit: number
  /** In milliseconds, or the unit of a calendar window. */
  readonly window?: number | CalendarUnit
  readonly start?: 'epoch' | 'first-request'
  readonly timeZone?: string
  readonly countDenied?: boolean
  /** In milliseconds. */
  readonly blockFor?: number
  /** Of a concurrency policy, in milliseconds. */
  readonly ttl?: number
  readonly refillRate?: number | string
  readonly leakRate?: number | string
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  readonly keys: 'shown' | 'secret'
  readonly from: From
}

export interface From {
  readonly kind: string
  /** Line of the configuration file. */
  readonly line?: number
  /** Id of the route whose filter defines the policy. */
  readonly route?: string
}

export interface Rule {
  readonly name: string
  readonly match?: {
    readonly path?: readonly string[]
    readonly methods?: readonly string[]
    readonly header?: Readonly<Record<string, string>>
  }
  readonly key: string
  readonly policy: string
  readonly cost: number
  readonly from: From
}

interface Route {
  readonly id: string
  readonly upstreams: readonly string[]
  /** Limits of a request on this route; all must allow it. */
  readonly limits: readonly { readonly policy: string; readonly key: string }[]
  readonly from: From
}

export interface Reload {
  readonly timeMs: number
  readonly isActive: boolean
  readonly errors: readonly string[]
  readonly needRestart: readonly string[]
}
