import type { Store } from '@tidegate/core'
import type { Logger } from 'pino'
import type { Gateway } from './gateway/gateway.js'
import type { Health } from './health.js'
import type { InForce } from './in-force.js'
import type { Metrics } from './metrics/metrics.js'

/** What the routes know: everything that a request may need. */
export interface Service {
  /** Replaced as a whole when the configuration changes. */
  inForce: InForce
  readonly store: Store
  readonly health: Health
  readonly metrics: Metrics
  /** What Prometheus reads: of this process, or of all that serve together. */
  readonly exposition: () => Promise<string>
  readonly log: Logger
  readonly version: string
  /** Beside the API, if the configuration has one. */
  gateway: Gateway | undefined
  /** Whether it is being stopped: connections are no longer kept. */
  isStopping: boolean
}
