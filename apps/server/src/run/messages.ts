import type { Worker } from 'node:cluster'
import type { FileText } from '../config/load.js'
import type { Figures } from '../live/figures.js'
import type { Measured, Reloads } from '../metrics/metrics.js'

/** What the processes of one service tell each other. */
export type ToWorker =
  | { readonly tidegate: 'stop' }
  /** What the service was started with, what is in force, and how often the file was read again. */
  | {
      readonly tidegate: 'begin'
      readonly start: FileText
      readonly latest: FileText
      readonly reloads: Reloads
      readonly generatedAdminToken: string
    }
  /** Only one of them says in the log what came of it: they all get the same. */
  | { readonly tidegate: 'reload'; readonly text: FileText; readonly isQuiet: boolean }
  /** What do you measure? */
  | { readonly tidegate: 'measure'; readonly id: number }
  /** What all measure; undefined if not all have said. */
  | { readonly tidegate: 'metrics'; readonly id: number; readonly text: string | undefined }
  /** What have you counted? */
  | { readonly tidegate: 'count'; readonly id: number }
  /** What all have counted. */
  | { readonly tidegate: 'counted'; readonly id: number; readonly all: readonly Figures[] }

export type ToPrimary =
  /** What should I begin with? */
  | { readonly tidegate: 'begin' }
  | { readonly tidegate: 'ready'; readonly url: string }
  /** What do all measure? */
  | { readonly tidegate: 'metrics'; readonly id: number }
  | { readonly tidegate: 'measured'; readonly id: number; readonly metrics: Measured }
  /** What have all counted? */
  | { readonly tidegate: 'count-all'; readonly id: number }
  | { readonly tidegate: 'counted'; readonly id: number; readonly figures: Figures }

export function isOurs(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'tidegate' in message
}

/** To one that is not there any more, nothing. */
export function tell(worker: Worker, message: ToWorker): void {
  // It may have died just now, which is heard by itself. An error that nobody hears would end this process, and all others.
  if (worker.isConnected()) worker.send(message, () => {})
}
