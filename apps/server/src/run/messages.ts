import type { Worker } from 'node:cluster'
import type { FileText } from '../config/load.js'
import type { Counters } from '../live/counters.js'
import type { MetricsSnapshot, Reloads } from '../metrics/metrics.js'
import type { LimitFileText } from '../rls/limits/load-limits.js'

/** Messages of the primary to a worker. */
export type ToWorker =
  | { readonly tidegate: 'stop' }
  /** The texts of the configuration at startup and of the active one, and the number of reloads so far. */
  | {
      readonly tidegate: 'begin'
      readonly start: FileText
      readonly latest: FileText
      readonly reloads: Reloads
      readonly generatedAdminToken: string
      /** The last valid limits of the rate limit service for Envoy. */
      readonly rlsLimits: readonly LimitFileText[] | undefined
    }
  /** Only one worker logs the result. */
  | { readonly tidegate: 'reload'; readonly text: FileText; readonly isQuiet: boolean }
  /** Requests the metrics of the worker. */
  | { readonly tidegate: 'get-metrics'; readonly id: number }
  /** The metrics of all workers; undefined if one did not respond in time. */
  | { readonly tidegate: 'metrics'; readonly id: number; readonly text: string | undefined }
  /** Requests the counters of the worker. */
  | { readonly tidegate: 'get-counters'; readonly id: number }
  /** The counters of all workers. */
  | { readonly tidegate: 'counters'; readonly id: number; readonly all: readonly Counters[] }

/** Messages of a worker to the primary. */
export type ToPrimary =
  /** Requests the configuration to start with. */
  | { readonly tidegate: 'begin' }
  | { readonly tidegate: 'ready'; readonly url: string }
  /** Valid limits of the rate limit service for Envoy, for workers that start while the files have errors. */
  | { readonly tidegate: 'rls-limits'; readonly texts: readonly LimitFileText[] }
  /** Requests the metrics of all workers. */
  | { readonly tidegate: 'metrics'; readonly id: number }
  | { readonly tidegate: 'worker-metrics'; readonly id: number; readonly metrics: MetricsSnapshot }
  /** Requests the counters of all workers. */
  | { readonly tidegate: 'get-all-counters'; readonly id: number }
  | { readonly tidegate: 'counters'; readonly id: number; readonly counters: Counters }

export function isTidegateMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'tidegate' in message
}

/** Does nothing if the worker has exited. */
export function sendToWorker(worker: Worker, message: ToWorker): void {
  // The worker may have just exited. An unhandled error would end the primary.
  if (worker.isConnected()) worker.send(message, () => {})
}
