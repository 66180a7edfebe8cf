import type { Logger } from 'pino'
import { isLoopbackHost } from '../api/foreign-pages.js'
import type { Config } from '../config/config.js'
import { kindOf } from './serve.js'

/** Logs where the service listens, and warns about what is open to every client. */
export function announce(
  url: string,
  config: Config,
  generatedAdminToken: string,
  workers: number,
  log: Logger,
): void {
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
  if (adminToken === undefined) logGeneratedToken(generatedAdminToken, log, url)
  if (!isLoopbackHost(host) && callers.length === 0) {
    log.warn(
      `No callers are configured: every client that can reach ${host} may check any key, and use up the limits of others. Set callers, or listen on 127.0.0.1.`,
    )
  }
}

/** The token is logged on purpose: it lasts until the service stops, and there is no other way to learn it. */
export function logGeneratedToken(token: string, log: Logger, url?: string): void {
  log.info(
    { adminToken: token, ...(url === undefined ? {} : { dashboard: `${url}/#/?token=${token}` }) },
    'No admin token is set; generated one for this run. Set TIDEGATE_ADMIN_TOKEN to choose it',
  )
}
