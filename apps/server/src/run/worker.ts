import { ApiError } from '../api/api-error.js'
import { startedWith } from '../config/at-start.js'
import type { Config } from '../config/config.js'
import type { Loaded } from '../config/load.js'
import { describeMistakes } from '../config/mistakes.js'
import { createLog } from '../log/log.js'
import { createCounting } from './count-all.js'
import { isOurs, type ToPrimary, type ToWorker } from './messages.js'
import { reload } from './reload.js'
import { type Serving, serve } from './serve.js'
import type { StartOptions } from './start-options.js'

type Told<What extends ToWorker['tidegate']> = Extract<ToWorker, { tidegate: What }>

/** One of several processes that serve together. The primary tells it what to begin with, what is new, and when to stop. */
export async function startWorker({ load, file }: Pick<StartOptions, 'load' | 'file'>): Promise<void> {
  const asked = new Map<number, (text: string | undefined) => void>()
  const counting = createCounting(tell)
  let questions = 0
  let begin: ((told: Told<'begin'>) => void) | undefined
  let serving: Serving | undefined
  let missed: Told<'reload'> | undefined
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
    else if (message.tidegate === 'measure') void measure(message.id)
    else if (message.tidegate === 'begin') {
      // What was to be read again before it is in it.
      missed = undefined
      begin?.(message)
    } else if (message.tidegate === 'reload') takeUp(message)
    else if (serving !== undefined) counting.hear(message, serving.service.live.figures)
  })
  process.on('SIGTERM', stop)
  // A terminal sends these to every process; it is for the primary to say what they mean.
  process.on('SIGINT', () => {}).on('SIGHUP', () => {})

  /** What comes while it starts waits until it serves. */
  function takeUp(told: Told<'reload'>): void {
    if (serving === undefined) {
      missed = told
      return
    }
    const { service } = serving
    const log = told.isQuiet ? service.log.child({}, { level: 'silent' }) : service.log
    reload(service, { text: told.text, load, file, log })
  }

  /** One that does not serve yet has counted nothing. */
  async function measure(id: number): Promise<void> {
    const metrics = (await serving?.service.metrics.registry.getMetricsAsJSON()) ?? []
    tell({ tidegate: 'measured', id, metrics })
  }

  /** The primary asks all of them, this one too, and adds up. */
  async function exposition(): Promise<string> {
    const id = questions++
    const text = await new Promise<string | undefined>((resolve) => {
      asked.set(id, resolve)
      tell({ tidegate: 'metrics', id })
    })
    asked.delete(id)
    if (text === undefined) throw new ApiError(503, 'Not all workers have said what they count; ask again.')
    return text
  }

  const { start, latest, reloads, generatedAdminToken } = await new Promise<Told<'begin'>>((resolve) => {
    begin = resolve
    tell({ tidegate: 'begin' })
  })
  const config = startedWith(rightOf(load(start)), rightOf(load(latest)))
  const log = createLog(config.log.level, Number(process.env.TIDEGATE_WORKER))
  serving = await serve({ config, log, generatedAdminToken, exposition, collect: counting.collect })
  serving.service.metrics.addReloads(reloads)
  if (missed !== undefined) takeUp(missed)
  tell({ tidegate: 'ready', url: serving.url })
}

function rightOf(loaded: Loaded): Config {
  if ('config' in loaded) return loaded.config
  throw new Error(`what was right has mistakes: ${describeMistakes(loaded.mistakes, '')}`)
}

function tell(message: ToPrimary): void {
  process.send?.(message)
}
