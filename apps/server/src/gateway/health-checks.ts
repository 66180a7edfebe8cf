import type { Logger } from 'pino'
import { Client } from 'undici'
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

/**
 * Whether it answers 2xx or 3xx in time. It is asked on a connection of its own: those of the pool may all be taken by
 * requests that wait for the very upstream that hangs.
 */
async function isUp({ origin }: Upstream, { path, timeoutMs }: HealthCheck): Promise<boolean> {
  const client = new Client(origin, { connect: { timeout: timeoutMs } })
  // Also ends what has no connection yet, which a signal would not.
  const timer = setTimeout(() => client.destroy(), timeoutMs)
  try {
    const { statusCode, body } = await client.request({ path, method: 'GET' })
    await body.dump({ limit: 64 * 1024 })
    return statusCode < 400
  } catch {
    return false
  } finally {
    clearTimeout(timer)
    await client.destroy()
  }
}
