import cluster, { type Worker } from 'node:cluster'
import { type FileText, readText } from '../config/load.js'
import { watchEarly } from '../config/watch.js'
import { createLog } from '../log/log.js'
import { generateToken } from '../tokens.js'
import { announce } from './announce.js'
import { countForAll } from './count-all.js'
import { measureForAll } from './measure-all.js'
import { isOurs, type ToPrimary, tell } from './messages.js'
import { loadAgain } from './reload.js'
import { obeySignals } from './signals.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** How soon one that has ended is started again: soon, and ever later if they keep ending. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000
/** One that has lived for as long was well. */
const WELL_AFTER_MS = 30_000
/** Beyond the time in which a worker ends what is in flight. */
const KILL_AFTER_MS = 5000

/** Serves with several processes, each running this same program; this one looks after them. */
export async function startPrimary(options: StartOptions): Promise<RunningServer> {
  const { config, text: start, load, file, workers } = options
  const log = createLog(config.log.level)
  let latest: FileText = start
  const reloads = { ok: 0, failed: 0 }
  const generatedAdminToken = generateToken()
  let isServing = false
  let isStopping = false
  let endings = 0

  /** Starts one, and another whenever it ends. */
  function keep(number: number): Worker {
    const startedMs = performance.now()
    const worker = cluster.fork({ TIDEGATE_WORKER: String(number) })
    worker.once('exit', (code, signal) => {
      if (isStopping || !isServing) return
      endings = performance.now() - startedMs > WELL_AFTER_MS ? 0 : endings + 1
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** endings)
      log.error({ worker: number, code, signal, waitMs }, 'A worker has ended; another is started')
      setTimeout(() => {
        if (!isStopping) keep(number)
      }, waitMs)
    })
    return worker
  }

  /** What is wrong with it, the workers say. */
  function takeUp(text: FileText): void {
    try {
      const loaded = loadAgain(text, load, file)
      reloads['mistakes' in loaded ? 'failed' : 'ok']++
      if ('mistakes' in loaded) return
      latest = text
      log.level = loaded.config.log.level
    } catch {
      // They say that too.
      reloads.failed++
    }
  }

  async function close(): Promise<void> {
    isStopping = true
    const ended = running().map(ending)
    for (const worker of running()) tell(worker, { tidegate: 'stop' })
    const late = setTimeout(() => {
      for (const worker of running()) worker.process.kill('SIGKILL')
    }, config.limits.stopTimeoutMs + KILL_AFTER_MS)
    await Promise.all(ended)
    clearTimeout(late)
  }

  const watch = file === undefined ? undefined : watchEarly(file)
  measureForAll()
  countForAll()
  // What is said to a worker that has only just begun does not arrive.
  cluster.on('message', (worker, message: ToPrimary) => {
    // One that replaces another must be like the others, whatever the file is like by now.
    if (isOurs(message) && message.tidegate === 'begin')
      tell(worker, { tidegate: 'begin', start, latest, reloads, generatedAdminToken })
    if (isStopping && isOurs(message) && message.tidegate === 'ready') tell(worker, { tidegate: 'stop' })
  })
  try {
    // The first by itself: what keeps one from starting keeps all, and need not be said by each.
    const url = await ready(keep(1))
    await Promise.all(Array.from({ length: workers - 1 }, (_, i) => ready(keep(i + 2))))
    isServing = true
    const reload = () => {
      const text = readText(file)
      takeUp(text)
      for (const [i, worker] of running().entries())
        tell(worker, { tidegate: 'reload', text, isQuiet: i > 0 })
    }
    watch?.tell(reload)
    const ignoreSignals = obeySignals({ stop: close, reload }, log)
    announce(url, config, generatedAdminToken, workers, log)
    return {
      url,
      async close() {
        ignoreSignals()
        watch?.close()
        await close()
      },
    }
  } catch (error) {
    watch?.close()
    await close()
    throw error
  }
}

/** Where a worker serves, once it does. One that cannot has said why itself. */
function ready(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ToPrimary) => {
      if (isOurs(message) && message.tidegate === 'ready') resolve(message.url)
    })
    worker.once('exit', () => reject(new Error('a worker has ended before it served.')))
  })
}

function ending(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => worker.once('exit', resolve))
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
