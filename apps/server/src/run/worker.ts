import { AggregatorRegistry } from 'prom-client'
import { ApiError } from '../api/api-error.js'
import { createLog } from '../log/log.js'
import type { Metrics } from '../metrics/metrics.js'
import { createCounting } from './count-all.js'
import { isOurs, type ToPrimary, type ToWorker } from './messages.js'
import { reload } from './reload.js'
import { type Serving, serve } from './serve.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** One of several processes that serve together. The primary tells it when to stop and when to read the file again. */
export async function startWorker({ config, load, file }: StartOptions): Promise<RunningServer> {
  const log = createLog(config.log.level, Number(process.env.TIDEGATE_WORKER))
  const quiet = log.child({}, { level: 'silent' })
  const asked = new Map<number, (text: string | undefined) => void>()
  const counting = createCounting(tell)
  let questions = 0
  let serving: Serving | undefined
  let stopping: Promise<void> | undefined

  function stop(): void {
    stopping ??= serving?.close() ?? Promise.resolve()
    stopping.then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }

  // Before it serves: it may be told to stop while it starts.
  process.on('message', (message: ToWorker) => {
    if (!isOurs(message)) return
    if (message.tidegate === 'stop') stop()
    else if (message.tidegate === 'metrics') asked.get(message.id)?.(message.text)
    else if (serving === undefined) return
    else if (message.tidegate !== 'reload') counting.hear(message, serving.service.live.figures)
    else reload(serving.service, load, file, message.isQuiet ? quiet : log)
  })
  process.on('SIGTERM', stop)
  // A terminal sends these to every process; it is for the primary to say what they mean.
  process.on('SIGINT', () => {}).on('SIGHUP', () => {})

  /** The primary asks all of them, this one too, and adds up. */
  function expositionOfAll({ registry }: Metrics): () => Promise<string> {
    AggregatorRegistry.setRegistries([registry])
    // From now on it answers the primary's question.
    new AggregatorRegistry()
    return async () => {
      const id = questions++
      const text = await new Promise<string | undefined>((resolve) => {
        asked.set(id, resolve)
        tell({ tidegate: 'metrics', id })
      })
      asked.delete(id)
      if (text === undefined) throw new ApiError(503, 'Not all workers have said what they count; ask again.')
      return text
    }
  }

  try {
    serving = await serve({ config, log, exposition: expositionOfAll, collect: counting.collect })
  } catch (error) {
    // Nothing more is to be heard: it may end.
    process.channel?.unref()
    throw error
  }
  tell({ tidegate: 'ready', url: serving.url })
  return { url: serving.url, close: serving.close }
}

function tell(message: ToPrimary): void {
  process.send?.(message)
}
