/** What the service tells every second. */
export interface LiveEvent {
  readonly timeMs: number
  /** Of how long the rates are; 0: there are none yet. */
  readonly seconds: number
  readonly processes: number
  readonly policies: readonly PolicyRates[]
  readonly total: Rates
  readonly checkMs: { readonly p50: number; readonly p99: number } | null
  readonly state: 'well' | 'degraded' | 'store-down'
  readonly degraded: { readonly totals: Readonly<Record<'open' | 'closed' | 'local', number>> }
  readonly store: {
    readonly kind: string
    readonly isUp: boolean
    readonly latencyMs: number
    readonly errors: number
  }
  readonly breaker: 'closed' | 'half_open' | 'open'
  readonly instance: string
  readonly instances: readonly Instance[]
  readonly busiest: readonly KeyCount[]
  readonly refused: readonly KeyCount[]
}

interface Rates {
  readonly allowed: number
  readonly refused: number
  readonly allowedTotal: number
  readonly refusedTotal: number
}

export interface PolicyRates extends Rates {
  readonly name: string
  readonly algorithm: string
  readonly onStoreFailure: 'open' | 'closed' | 'local'
}

interface Instance {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly startedMs: number
}

export interface KeyCount {
  readonly policy: string
  readonly key: string
  readonly count: number
  readonly error: number
  readonly isHashed: boolean
}
