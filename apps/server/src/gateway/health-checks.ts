import type { Logger } from 'pino'
import type { HealthCheck } from './route.js'
import type { Upstream } from './upstreams.js'

/** One upstream under watch. */
interface Watched {
  readonly isWell: boolean
}

/** Asks upstreams whether they are well, each question once however many routes ask it. */
export interface HealthChecks {
  /** To be left once for each time it was watched. */
  watch(upstream: Upstream, check: HealthCheck): Watched
  leave(upstream: Upstream, check: HealthCheck): void
}

interface Watch {
  isWell: boolean
  watchers: number
  stop(): void
}

export function createHealthChecks(log: Logger): HealthChecks {
  const watches = new Map<string, Watch>()
  return {
    watch(upstream, check) {
      const key = keyOf(upstream, check)
      const watch = watches.get(key) ?? startWatch(upstream, check, log)
      watches.set(key, watch)
      watch.watchers++
      return watch
    },
    leave(upstream, check) {
      const key = keyOf(upstream, check)
      const watch = watches.get(key)
      if (watch === undefined || --watch.watchers > 0) return
      watch.stop()
      watches.delete(key)
    },
  }
}

function keyOf({ key }: Upstream, { path, intervalMs, timeoutMs }: HealthCheck): string {
  return JSON.stringify([key, path, intervalMs, timeoutMs])
}

function startWatch(upstream: Upstream, check: HealthCheck, log: Logger): Watch {
  let isAsking = false
  let isStopped = false
  const timer = setInterval(ask, check.intervalMs).unref()
  // Until the first answer it is taken to be well.
  const watch: Watch = {
    isWell: true,
    watchers: 0,
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
  ask()
  return watch

  async function ask(): Promise<void> {
    if (isAsking) return
    isAsking = true
    const isWell = await isUp(upstream, check)
    isAsking = false
    if (isWell === watch.isWell || isStopped) return
    watch.isWell = isWell
    if (isWell) log.info({ upstream: upstream.origin }, 'The upstream is well again')
    else log.warn({ upstream: upstream.origin }, 'The upstream is not well; it is asked nothing for now')
  }
}

/** Whether it answers 2xx or 3xx in time. */
async function isUp({ pool }: Upstream, { path, timeoutMs }: HealthCheck): Promise<boolean> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    const { statusCode, body } = await pool.request({ path, method: 'GET', signal: late.signal })
    await body.dump({ limit: 64 * 1024 })
    return statusCode < 400
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
