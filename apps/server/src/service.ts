import type { FullStore } from '@tidegate/core'
import type { Logger } from 'pino'
import type { ActiveConfig } from './active-config.js'
import type { Config } from './config/config.js'
import type { Gateway } from './gateway/index.js'
import type { Health } from './health.js'
import type { ClientShares } from './http/client-shares.js'
import type { TokenGuesses } from './http/token-guesses.js'
import type { InstanceRegistry } from './live/instances.js'
import type { Live } from './live/live.js'
import type { ApiMetrics } from './metrics/api-metrics.js'
import type { Metrics } from './metrics/metrics.js'
import type { NaiveCounter } from './race/naive-counter.js'
import type { Rls } from './rls/index.js'
import type { KeyTracker } from './top-keys/key-tracker.js'

/** Everything that the routes of the API need. */
export interface Service {
  /** Replaced as a whole when the configuration changes. */
  activeConfig: ActiveConfig
  /** The configuration of the start. Some options need a restart, and are read from here. */
  readonly startConfig: Config
  readonly store: FullStore
  readonly health: Health
  readonly metrics: Metrics
  /** The busiest and most denied keys, tracked while a live stream is open. */
  readonly keys: KeyTracker
  readonly live: Live
  /** The instances that share the store. */
  readonly instanceRegistry: InstanceRegistry
  /** The naive counter of the race. */
  readonly counter: NaiveCounter
  /** The metrics text: of this process, or summed over all workers. */
  readonly exposition: () => Promise<string>
  /** The admin token while the configuration has none. */
  readonly generatedAdminToken: string
  readonly guesses: TokenGuesses
  readonly apiMetrics: ApiMetrics
  /** Checks that wait for the store, by client; undefined for the memory store, which is synchronous. */
  readonly inFlight: ClientShares | undefined
  /** Bytes of request bodies that are being received, by client. */
  readonly bodies: ClientShares
  readonly log: Logger
  readonly version: string
  /** Undefined if the configuration has no gateway. */
  gateway: Gateway | undefined
  /** The rate limit service for Envoy; undefined if the configuration has none. */
  rls: Rls | undefined
  /** The result of the last reload; undefined before the first. */
  lastReload: Reload | undefined
  /** Whether the service is stopping, and connections are closed after their response. */
  isStopping: boolean
}

interface Reload {
  readonly timeMs: number
  readonly isActive: boolean
  /** One line per error; empty if the configuration is active. */
  readonly errors: readonly string[]
  /** Changed options that need a restart. */
  readonly needRestart: readonly string[]
}
