import type { Logger } from 'pino'
import { isLoopbackHost } from '../api/access.js'
import type { Config } from '../config/config.js'
import { kindOf } from './serve.js'

/** Says where the service is, and in plain words what is open to whom. */
export function announce(url: string, config: Config, workers: number, log: Logger): void {
  const { host, adminToken, callers, store } = config
  log.info(
    {
      store: kindOf(store),
      ...(workers > 1 ? { workers } : {}),
      try: `curl -i '${url}/api/v1/rate-limit/check?key=user:123'`,
      docs: `${url}/docs`,
      metrics: `${url}/metrics`,
    },
    `Tidegate serves on ${url}`,
  )
  if (adminToken !== undefined) return
  if (isLoopbackHost(host) || callers.length > 0) {
    log.info(
      'No admin token is set: only this machine may reset keys and administer. Set TIDEGATE_ADMIN_TOKEN.',
    )
  } else {
    log.warn(
      `Whoever can reach ${host} may check any key, and so use up the limits of others: there are no callers in the file. No admin token is set either: only this machine may administer. Set callers and adminToken, or listen on 127.0.0.1.`,
    )
  }
}
