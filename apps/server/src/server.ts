import { startAlone } from './run/alone.js'
import { startPrimary } from './run/primary.js'
import type { RunningServer, StartOptions } from './run/start-options.js'

/** Serves until it is closed, or told to stop by a signal. */
export function startServer(options: StartOptions): Promise<RunningServer> {
  return options.workers > 1 ? startPrimary(options) : startAlone(options)
}
