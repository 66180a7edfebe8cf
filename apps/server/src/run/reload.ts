import type { Logger } from 'pino'
import { activateConfig } from '../active-config.js'
import type { FileText, LoadResult } from '../config/load.js'
import { NEEDS_RESTART } from '../config/restart-options.js'
import { formatConfigErrors } from '../config-file/config-error.js'
import type { Service } from '../service.js'
import { logGeneratedToken, logWarnings } from './announce.js'
import { reloadGateway } from './gateway-lifecycle.js'

export interface ReloadOptions {
  /** The current text of the file. */
  readonly text: FileText
  readonly load: (text: FileText) => LoadResult
  /** The file name for error messages. */
  readonly file: string | undefined
  readonly log: Logger
}

/**
 * Loads a text for a running service. Rejects an empty file: editors truncate files while writing, and the defaults would
 * accept every client.
 */
export function loadAgain(
  text: FileText,
  load: (text: FileText) => LoadResult,
  file: string | undefined,
): LoadResult {
  const isEmpty = typeof text === 'string' && text.split('\n').every((line) => /^\s*(?:#|$)/.test(line))
  if (file === undefined || !isEmpty) return load(text)
  return { errors: [{ path: file, message: 'is empty; write {} to use the defaults' }] }
}

/** Activates a new configuration for all later requests. An invalid one changes nothing. */
export function reload(service: Service, { text, load, file, log }: ReloadOptions): void {
  service.rls?.reload()
  const record = (isActive: boolean, errors: string[], needRestart: string[] = []) => {
    service.lastReload = { timeMs: Date.now(), isActive, errors, needRestart }
  }
  let loaded: LoadResult
  try {
    loaded = loadAgain(text, load, file)
  } catch (error) {
    service.metrics.recordReload('failed')
    log.error({ err: error }, 'Configuration could not be read; the previous one stays active')
    record(false, ['The file could not be read.'])
    return
  }
  if ('errors' in loaded) {
    service.metrics.recordReload('failed')
    const errors = formatConfigErrors(loaded.errors, file ?? '').split('\n')
    log.error({ errors }, 'Configuration is invalid; the previous one stays active')
    record(false, errors)
    return
  }
  const { config } = loaded
  const { config: before } = service.activeConfig
  service.activeConfig = activateConfig(config, service)
  service.log.level = config.log.level
  // Open live streams were authorized by the previous token.
  if (config.adminToken !== before.adminToken) service.live.close()
  if (config.adminToken === undefined && before.adminToken !== undefined) {
    logGeneratedToken(service.generatedAdminToken, log)
  }
  service.metrics.recordReload('ok')
  log.info({ policies: config.policies.size, rules: config.rules.length }, 'Configuration reloaded')
  logWarnings(config.notices.warnings, log)
  const changed: string[] = NEEDS_RESTART.filter(
    (name) => JSON.stringify(config[name]) !== JSON.stringify(service.startConfig[name]),
  )
  if (!reloadGateway(service)) changed.push('gateway')
  record(true, [], changed)
  if (changed.length > 0) {
    log.warn({ options: changed }, 'Changed options take effect after a restart')
  }
}
