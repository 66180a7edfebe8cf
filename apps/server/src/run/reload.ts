import type { Logger } from 'pino'
import { NEEDS_RESTART } from '../config/at-start.js'
import type { FileText, Loaded } from '../config/load.js'
import { describeMistakes } from '../config/mistakes.js'
import { inForceOf } from '../in-force.js'
import type { Service } from '../service.js'
import { logGeneratedToken } from './announce.js'
import { reloadGateway } from './gateway.js'

export interface ReloadOptions {
  /** What is in the file now. */
  readonly text: FileText
  readonly load: (text: FileText) => Loaded
  /** As mistakes call it. */
  readonly file: string | undefined
  readonly log: Logger
}

/**
 * What a text says for a service that runs already. A file is empty while it is being written: taken for one in which all
 * is as by default, it would let everybody in.
 */
export function loadAgain(
  text: FileText,
  load: (text: FileText) => Loaded,
  file: string | undefined,
): Loaded {
  const isEmpty = typeof text === 'string' && text.split('\n').every((line) => /^\s*(?:#|$)/.test(line))
  if (file === undefined || !isEmpty) return load(text)
  return { mistakes: [{ path: file, message: 'is empty; write {} if that is meant' }] }
}

/** Puts a new configuration in force: a request sees the old one or the new one. One with mistakes changes nothing. */
export function reload(service: Service, { text, load, file, log }: ReloadOptions): void {
  const remember = (isInForce: boolean, mistakes: string[], needRestart: string[] = []) => {
    service.lastReload = { timeMs: Date.now(), isInForce, mistakes, needRestart }
  }
  let loaded: Loaded
  try {
    loaded = loadAgain(text, load, file)
  } catch (error) {
    service.metrics.countReload('failed')
    log.error({ err: error }, 'The configuration could not be read; the one before stays in force')
    remember(false, ['The file could not be read.'])
    return
  }
  if ('mistakes' in loaded) {
    service.metrics.countReload('failed')
    const mistakes = describeMistakes(loaded.mistakes, file ?? '').split('\n')
    log.error({ mistakes }, 'The configuration has mistakes; the one before stays in force')
    remember(false, mistakes)
    return
  }
  const { config } = loaded
  const { config: before } = service.inForce
  service.inForce = inForceOf(config, service)
  service.log.level = config.log.level
  // Open live streams were authorized by the token before.
  if (config.adminToken !== before.adminToken) service.live.close()
  if (config.adminToken === undefined && before.adminToken !== undefined) {
    logGeneratedToken(service.generatedAdminToken, log)
  }
  service.metrics.countReload('ok')
  log.info(
    { policies: config.policies.size, rules: config.rules.length },
    'The configuration is in force anew',
  )
  const changed: string[] = NEEDS_RESTART.filter(
    (name) => JSON.stringify(config[name]) !== JSON.stringify(service.startedWith[name]),
  )
  if (!reloadGateway(service)) changed.push('gateway')
  remember(true, [], changed)
  if (changed.length > 0) {
    log.warn(
      `Restart the service for what has changed of ${changed.join(', ')}: it is read at the start only`,
    )
  }
}
