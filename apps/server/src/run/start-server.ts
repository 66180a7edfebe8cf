import { startPrimary } from './primary.js'
import { startSingleProcess } from './single-process.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** Serves until it is closed, or stopped by a signal. */
export function startServer(options: StartOptions): Promise<RunningServer> {
  return options.workers > 1 ? startPrimary(options) : startSingleProcess(options)
}
