import type { Logger } from 'pino'

/** Stops on SIGTERM and SIGINT, and reloads on SIGHUP. Returns a function that removes the handlers. */
export function handleSignals(
  { stop, reload }: { stop: () => Promise<void>; reload: () => void },
  log: Logger,
): () => void {
  let isStopping = false
  const onStop = (signal: NodeJS.Signals) => {
    if (isStopping) {
      log.warn(`${signal} received again; exiting at once`)
      process.exit(1)
    }
    isStopping = true
    log.info(`${signal} received; finishing the requests in flight`)
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'Shutdown failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', reload)
  return () => {
    process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', reload)
  }
}
