/** What the service says is in force. */
export interface InForce {
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
  /** Milliseconds. */
  readonly window?: number
  readonly refillRate?: number | string
  readonly leakRate?: number | string
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  readonly keys: 'shown' | 'secret'
  readonly from: From
}

export interface From {
  readonly kind: string
  /** In the file. */
  readonly line?: number
  /** Of the gateway, whose filter brings it along. */
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
  /** What a request on it takes, all or nothing. */
  readonly limits: readonly { readonly policy: string; readonly key: string }[]
  readonly from: From
}

export interface Reload {
  readonly timeMs: number
  readonly isInForce: boolean
  readonly mistakes: readonly string[]
  readonly needRestart: readonly string[]
}
