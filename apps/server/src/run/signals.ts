import type { Logger } from 'pino'

/** Obeys the signals that stop a process or have it read its configuration again. Answers how to stop listening. */
export function obeySignals(
  { stop, reload }: { stop: () => Promise<void>; reload: () => void },
  log: Logger,
): () => void {
  let isStopping = false
  const onStop = (signal: NodeJS.Signals) => {
    if (isStopping) {
      log.warn(`${signal} again: ending at once`)
      process.exit(1)
    }
    isStopping = true
    log.info(`${signal}: finishing what is in flight`)
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'Could not stop in good order')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', onStop).on('SIGINT', onStop).on('SIGHUP', reload)
  return () => {
    process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', reload)
  }
}
