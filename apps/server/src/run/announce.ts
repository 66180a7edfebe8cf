import type { Logger } from 'pino'
import { isLoopbackHost } from '../api/request/foreign-pages.js'
import type { Config } from '../config/config.js'
import type { Caller } from '../config/sections/callers.js'
import { kindOf } from './serve.js'

/** Logs where the service listens, and warns if every client can check any key. */
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
      try: exampleCheck(url, callers[0]),
      docs: `${url}/docs`,
      metrics: `${url}/metrics`,
      ...(adminToken === undefined ? {} : { dashboard: `${url}/` }),
    },
    `Tidegate listening on ${url}`,
  )
  logNotices(config, log)
  if (adminToken === undefined) logGeneratedToken(generatedAdminToken, log, url)
  if (!isLoopbackHost(host) && callers.length === 0) {
    log.warn(
      `No callers are configured: every client that can reach ${host} can check any key and use up its limit. Set callers, or listen on 127.0.0.1.`,
    )
  }
}

/** A command that checks a key, with a placeholder for the token of a caller. */
function exampleCheck(url: string, caller: Caller | undefined): string {
  const header = caller === undefined ? '' : `-H 'Authorization: Bearer <token of ${caller.name}>' `
  const prefix = caller?.keyPrefix
  const key = prefix === undefined ? 'user:123' : encodeURIComponent(`${prefix}123`).replaceAll("'", '%27')
  return `curl -i ${header}'${url}/api/v1/rate-limit/check?key=${key}'`
}

/** Logs the features of a Spring file that do not work here, and once the names of its other sections. */
function logNotices({ notices: { warnings, unused, profiles } }: Config, log: Logger): void {
  logWarnings(warnings, log)
  if (profiles === undefined) return
  if (unused.length === 0) log.info({ profiles }, 'Spring file loaded')
  else log.info({ profiles, unused }, 'Spring file loaded; some sections are not used')
}

export function logWarnings(warnings: Config['notices']['warnings'], log: Logger): void {
  for (const { line, path, message } of warnings) {
    if (path === '') log.warn({ line }, message)
    else log.warn({ line, option: path }, `${path}: ${message}`)
  }
}

/** Logs the generated token on purpose: it is valid until the service stops, and only the log has it. */
export function logGeneratedToken(token: string, log: Logger, url?: string): void {
  log.info(
    { adminToken: token, ...(url === undefined ? {} : { dashboard: `${url}/#/?token=${token}` }) },
    'Admin token generated for this run; set TIDEGATE_ADMIN_TOKEN to choose one',
  )
}
