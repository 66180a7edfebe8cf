import cluster, { type Worker } from 'node:cluster'
import { type FileText, readText } from '../config/load.js'
import { watchFromStart } from '../config/watch.js'
import { createLog } from '../log/log.js'
import type { LimitFileText } from '../rls/limits/load-limits.js'
import { generateToken } from '../tokens.js'
import { announce } from './announce.js'
import { collectCountersForWorkers } from './collect-counters.js'
import { collectMetricsForWorkers } from './collect-metrics.js'
import { isTidegateMessage, sendToWorker, type ToPrimary } from './messages.js'
import { loadAgain } from './reload.js'
import { handleSignals } from './signals.js'
import type { RunningServer, StartOptions } from './start-options.js'

/** The backoff before a worker that exited is replaced. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000
/** A worker that ran for this long resets the backoff. */
const STABLE_AFTER_MS = 30_000
/** Added to the stop timeout of a worker. */
const KILL_AFTER_MS = 5000

/** Starts the workers, which run this same program, and replaces those that exit. */
export async function startPrimary(options: StartOptions): Promise<RunningServer> {
  const { config, text: start, load, file, workers } = options
  const log = createLog(config.log.level)
  let latest: FileText = start
  let rlsLimits: readonly LimitFileText[] | undefined
  const reloads = { ok: 0, failed: 0 }
  const generatedAdminToken = generateToken()
  let isServing = false
  let isStopping = false
  let exits = 0

  /** Starts a worker, and another one whenever it exits. */
  function keepRunning(number: number): Worker {
    const startedMs = performance.now()
    const worker = cluster.fork({ TIDEGATE_WORKER: String(number) })
    worker.once('exit', (code, signal) => {
      if (isStopping || !isServing) return
      exits = performance.now() - startedMs > STABLE_AFTER_MS ? 0 : exits + 1
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** exits)
      log.error({ worker: number, code, signal, waitMs }, 'Worker exited; starting another')
      setTimeout(() => {
        if (!isStopping) keepRunning(number)
      }, waitMs)
    })
    return worker
  }

  /** Keeps the text for new workers. The workers log the errors. */
  function applyReload(text: FileText): void {
    try {
      const loaded = loadAgain(text, load, file)
      reloads['errors' in loaded ? 'failed' : 'ok']++
      if ('errors' in loaded) return
      latest = text
      log.level = loaded.config.log.level
    } catch {
      // The workers log this too.
      reloads.failed++
    }
  }

  async function close(): Promise<void> {
    isStopping = true
    const ended = runningWorkers().map(exitOf)
    for (const worker of runningWorkers()) sendToWorker(worker, { tidegate: 'stop' })
    const timeout = setTimeout(() => {
      for (const worker of runningWorkers()) worker.process.kill('SIGKILL')
    }, config.limits.stopTimeoutMs + KILL_AFTER_MS)
    await Promise.all(ended)
    clearTimeout(timeout)
  }

  const watch = file === undefined ? undefined : watchFromStart(file)
  collectMetricsForWorkers()
  collectCountersForWorkers()
  // A worker requests its configuration when it is ready, because earlier messages would be lost.
  cluster.on('message', (worker, message: ToPrimary) => {
    if (!isTidegateMessage(message)) return
    // A replacement gets the configuration of the other workers, even if the files have changed meanwhile.
    if (message.tidegate === 'begin')
      sendToWorker(worker, { tidegate: 'begin', start, latest, reloads, generatedAdminToken, rlsLimits })
    else if (message.tidegate === 'rls-limits') rlsLimits = message.texts
    else if (isStopping && message.tidegate === 'ready') sendToWorker(worker, { tidegate: 'stop' })
  })
  try {
    // Start one worker first, so that an error is reported once.
    const url = await ready(keepRunning(1))
    await Promise.all(Array.from({ length: workers - 1 }, (_, i) => ready(keepRunning(i + 2))))
    isServing = true
    const reload = () => {
      const text = readText(file)
      applyReload(text)
      for (const [i, worker] of runningWorkers().entries())
        sendToWorker(worker, { tidegate: 'reload', text, isQuiet: i > 0 })
    }
    watch?.subscribe(reload)
    const ignoreSignals = handleSignals({ stop: close, reload }, log)
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

/** The URL of a worker, once it serves. A worker that cannot start reports the reason itself. */
function ready(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ToPrimary) => {
      if (isTidegateMessage(message) && message.tidegate === 'ready') resolve(message.url)
    })
    worker.once('exit', () => reject(new Error('a worker exited before it was ready')))
  })
}

function exitOf(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => worker.once('exit', resolve))
}

function runningWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
