import type { Config } from '../config/config.js'
import type { LoadResult } from '../config/load.js'
import { startConfig } from '../config/restart-options.js'
import { formatConfigErrors } from '../config-file/config-error.js'
import { HttpError } from '../http/http-error.js'
import { createLog } from '../log/log.js'
import type { LimitFileText } from '../rls/limits/load-limits.js'
import { createCounterCollector } from './collect-counters.js'
import { isTidegateMessage, type ToPrimary, type ToWorker } from './messages.js'
import { reload } from './reload.js'
import { type RunningService, serve } from './serve.js'
import type { StartOptions } from './start-options.js'

type PrimaryMessage<What extends ToWorker['tidegate']> = Extract<ToWorker, { tidegate: What }>

/** Starts a worker. The primary sends its configuration, reloads, and the request to stop. */
export async function startWorker({ load, file }: Pick<StartOptions, 'load' | 'file'>): Promise<void> {
  const pending = new Map<number, (text: string | undefined) => void>()
  const counting = createCounterCollector(sendToPrimary)
  let nextId = 0
  let begin: ((message: PrimaryMessage<'begin'>) => void) | undefined
  let serving: RunningService | undefined
  let pendingReload: PrimaryMessage<'reload'> | undefined
  let stopping: Promise<void> | undefined

  function stop(): void {
    stopping ??= serving?.close() ?? Promise.resolve()
    stopping.then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }

  // Registered before the start: the worker may have to stop while it starts.
  process.on('message', (message: ToWorker) => {
    if (!isTidegateMessage(message)) return
    if (message.tidegate === 'stop') stop()
    else if (message.tidegate === 'metrics') pending.get(message.id)?.(message.text)
    else if (message.tidegate === 'get-metrics') void measure(message.id)
    else if (message.tidegate === 'begin') {
      // The configuration already includes an earlier reload.
      pendingReload = undefined
      begin?.(message)
    } else if (message.tidegate === 'reload') applyReload(message)
    else if (serving !== undefined) counting.handleMessage(message, serving.service.live.counters)
  })
  process.on('SIGTERM', stop)
  // A terminal sends these signals to every process; the primary handles them.
  process.on('SIGINT', () => {}).on('SIGHUP', () => {})

  /** Delays a reload that arrives during the start. */
  function applyReload(message: PrimaryMessage<'reload'>): void {
    if (serving === undefined) {
      pendingReload = message
      return
    }
    const { service } = serving
    const log = message.isQuiet ? service.log.child({}, { level: 'silent' }) : service.log
    reload(service, { text: message.text, load, file, log })
  }

  /** A worker that is still starting has no metrics. */
  async function measure(id: number): Promise<void> {
    const metrics = (await serving?.service.metrics.registry.getMetricsAsJSON()) ?? []
    sendToPrimary({ tidegate: 'worker-metrics', id, metrics })
  }

  /** The primary collects the metrics of all workers, and adds them up. */
  async function exposition(): Promise<string> {
    const id = nextId++
    const text = await new Promise<string | undefined>((resolve) => {
      pending.set(id, resolve)
      sendToPrimary({ tidegate: 'metrics', id })
    })
    pending.delete(id)
    if (text === undefined)
      throw new HttpError(503, 'Some workers did not send their metrics in time; retry.')
    return text
  }

  const { start, latest, reloads, generatedAdminToken, rlsLimits } = await new Promise<
    PrimaryMessage<'begin'>
  >((resolve) => {
    begin = resolve
    sendToPrimary({ tidegate: 'begin' })
  })
  const config = startConfig(configOf(load(start)), configOf(load(latest)))
  const log = createLog(config.log.level, Number(process.env.TIDEGATE_WORKER))
  const lastValidLimits = {
    texts: rlsLimits,
    keep: (texts: readonly LimitFileText[]) => sendToPrimary({ tidegate: 'rls-limits', texts }),
  }
  const { collect } = counting
  serving = await serve({ config, log, generatedAdminToken, exposition, collect, lastValidLimits })
  serving.service.metrics.addReloads(reloads)
  if (pendingReload !== undefined) applyReload(pendingReload)
  sendToPrimary({ tidegate: 'ready', url: serving.url })
}

function configOf(loaded: LoadResult): Config {
  if ('config' in loaded) return loaded.config
  throw new Error(`a valid configuration is now invalid: ${formatConfigErrors(loaded.errors, '')}`)
}

function sendToPrimary(message: ToPrimary): void {
  process.send?.(message)
}
