import cluster from 'node:cluster'
import { startAlone } from './run/alone.js'
import { startPrimary } from './run/primary.js'
import type { RunningServer, StartOptions } from './run/start-options.js'
import { startWorker } from './run/worker.js'

/** Serves until it is closed, or told to stop by a signal. */
export function startServer(options: StartOptions): Promise<RunningServer> {
  if (cluster.isWorker) return startWorker(options)
  return options.workers > 1 ? startPrimary(options) : startAlone(options)
}
