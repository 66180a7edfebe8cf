import type { Store } from '@tidegate/core'
import type { Logger } from 'pino'
import type { Shares } from './api/shares.js'
import type { TokenGuesses } from './api/token-guesses.js'
import type { Config } from './config/config.js'
import type { Gateway } from './gateway/gateway.js'
import type { Health } from './health.js'
import type { InForce } from './in-force.js'
import type { Instances } from './live/instances.js'
import type { Live } from './live/live.js'
import type { NotedKeys } from './live/noted-keys.js'
import type { ApiMetrics } from './metrics/api-metrics.js'
import type { Metrics } from './metrics/metrics.js'
import type { NaiveCounter } from './race/naive-counter.js'

/** What the routes know: everything that a request may need. */
export interface Service {
  /** Replaced as a whole when the configuration changes. */
  inForce: InForce
  /** Whatever is in force by now: of this, some is read at the start only. */
  readonly startedWith: Config
  readonly store: Store
  readonly health: Health
  readonly metrics: Metrics
  /** The busiest and most refused keys, while somebody looks. */
  readonly keys: NotedKeys
  readonly live: Live
  /** Who shares the store. */
  readonly instances: Instances
  /** What the race counts with. */
  readonly counter: NaiveCounter
  /** What Prometheus reads: of this process, or of all that serve together. */
  readonly exposition: () => Promise<string>
  /** The admin token while the configuration has none. */
  readonly generatedAdminToken: string
  readonly guesses: TokenGuesses
  readonly apiMetrics: ApiMetrics
  /** Checks that wait for the store, by client; undefined for a store that answers at once. */
  readonly inFlight: Shares | undefined
  /** Bytes of request bodies that are being received, by client. */
  readonly bodies: Shares
  readonly log: Logger
  readonly version: string
  /** Beside the API, if the configuration has one. */
  gateway: Gateway | undefined
  /** What came of reading the configuration again; undefined if it has not been. */
  lastReload: Reload | undefined
  /** Whether it is being stopped: connections are no longer kept. */
  isStopping: boolean
}

interface Reload {
  readonly timeMs: number
  readonly isInForce: boolean
  /** One line for each; empty if it is in force. */
  readonly mistakes: readonly string[]
  /** Options that have changed, but are read at the start only. */
  readonly needRestart: readonly string[]
}
