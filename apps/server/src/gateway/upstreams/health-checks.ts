import type { Logger } from 'pino'
import { Client } from 'undici'
import type { HealthCheck } from '../route.js'
import { reasonOf } from './upstream-state.js'
import type { Upstream } from './upstreams.js'

/** The health of an upstream. */
interface UpstreamHealth {
  readonly isHealthy: boolean
}

/** Probes upstreams. Routes with the same check of the same upstream share one probe. */
export interface HealthChecks {
  /** Each call needs a matching `leave`. */
  watch(upstream: Upstream, check: HealthCheck): UpstreamHealth
  leave(upstream: Upstream, check: HealthCheck): void
}

interface Watch {
  isHealthy: boolean
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
  let isProbing = false
  let isStopped = false
  const timer = setInterval(probe, check.intervalMs).unref()
  // Healthy until the first probe fails.
  const watch: Watch = {
    isHealthy: true,
    watchers: 0,
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
  probe()
  return watch

  async function probe(): Promise<void> {
    if (isProbing) return
    isProbing = true
    const problem = await problemOf(upstream, check)
    isProbing = false
    const isHealthy = problem === undefined
    if (isHealthy === watch.isHealthy || isStopped) return
    watch.isHealthy = isHealthy
    if (isHealthy)
      log.info({ upstream: upstream.origin }, 'Health check passed; requests are sent to the upstream again')
    else
      log.warn(
        { upstream: upstream.origin, reason: problem },
        'Health check failed; no requests are sent to the upstream',
      )
  }
}

/**
 * The reason why a health check failed; undefined if the response is 2xx or 3xx in time. The check has its own connection,
 * because requests to a hanging upstream may occupy the whole pool.
 */
async function problemOf(
  { origin }: Upstream,
  { path, timeoutMs }: HealthCheck,
): Promise<string | undefined> {
  const client = new Client(origin, { connect: { timeout: timeoutMs } })
  // Unlike a signal, destroy() also ends a connection attempt.
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    client.destroy()
  }, timeoutMs)
  try {
    const { statusCode, body } = await client.request({ path, method: 'GET' })
    await body.dump({ limit: 64 * 1024 })
    return statusCode < 400 ? undefined : `status ${statusCode}`
  } catch (error) {
    return isLate ? `no response within ${timeoutMs} ms` : reasonOf(error)
  } finally {
    clearTimeout(timer)
    await client.destroy()
  }
}
