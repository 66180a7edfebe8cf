import { statSync } from 'node:fs'
import type { Config } from '../config/config.js'
import { loadConfig, readText } from '../config/load.js'
import { BUILT_IN_POLICIES } from '../config/sections/policies.js'
import { type ConfigError, formatConfigErrors } from '../config-file/config-error.js'
import { validateLimits } from '../rls/validate-limits.js'
import { EXIT, type Terminal } from './terminal.js'

export interface ValidateOptions {
  readonly json?: boolean
  readonly profiles?: string
  /** Whether warnings are errors. */
  readonly strict?: boolean
}

/** The result of a validation: a summary of valid files, or their errors. */
interface Validation {
  readonly summary: string
  /** The errors, one line each. */
  readonly text: string
  readonly errors: readonly (ConfigError & { readonly file?: string })[]
  readonly warnings: readonly ConfigError[]
  readonly unused: readonly string[]
}

export function validate(file: string, options: ValidateOptions, terminal: Terminal): number {
  const { json, profiles, strict } = options
  const { summary, text, errors, warnings, unused } = isLimits(file)
    ? validateLimitFiles([file])
    : validateConfig(file, profiles, terminal)
  const isValid = errors.length === 0
  if (json) terminal.out(JSON.stringify({ file, valid: isValid, errors, warnings, unused }))
  else if (isValid) {
    if (warnings.length > 0) {
      terminal.err(
        formatConfigErrors(warnings, file).replace(/^/gm, `${terminal.paint('yellow', 'warning')}  `),
      )
    }
    if (unused.length > 0) terminal.out(`Not used: ${unused.join(', ')}`)
    terminal.out(`${file} is ${terminal.paint('green', 'valid')}: ${summary}`)
  } else terminal.err(text)
  return isValid && !(strict && warnings.length > 0) ? EXIT.ok : EXIT.invalidConfig
}

function validateConfig(file: string, profiles: string | undefined, terminal: Terminal): Validation {
  const loaded = loadConfig({ file, env: terminal.env, profiles })
  if ('errors' in loaded) {
    const { errors } = loaded
    return { summary: '', text: formatConfigErrors(errors, file), errors, warnings: [], unused: [] }
  }
  const { rls, notices } = loaded.config
  const summary = summaryOf(loaded.config)
  if (rls === undefined) return { summary, text: '', errors: [], ...notices }
  const limits = validateLimitFiles(rls.files, rls.settings)
  return { ...limits, ...notices, summary: `${summary}, ${limits.summary}` }
}

function validateLimitFiles(
  paths: readonly string[],
  settings: Parameters<typeof validateLimits>[1] = DEFAULTS,
): Validation {
  const { domains, rules, errors, fileErrors } = validateLimits(paths, settings)
  return {
    summary: `${plural(domains, 'domain', 'domains')}, ${plural(rules, 'rate limit', 'rate limits')}`,
    text: errors,
    errors: fileErrors.flatMap(({ file, errors }) => errors.map((error) => ({ file, ...error }))),
    warnings: [],
    unused: [],
  }
}

const DEFAULTS = { mergeDomains: false, onStoreFailure: 'error', instances: 1 } as const

/** Whether a path is a folder, or a limit file of the rate limit service for Envoy. */
function isLimits(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return true
  const text = readText(path)
  return typeof text === 'string' && /^(?:domain|descriptors)[ \t]*:/m.test(text)
}

function summaryOf({ policies, rules, gateway, store, notices }: Config): string {
  const ownPolicies = [...policies.values()].filter((policy) => BUILT_IN_POLICIES.get(policy.name) !== policy)
  const storeName = store.kind === 'memory' ? 'memory' : store.scheme
  const routes = gateway === undefined ? '' : `, ${plural(gateway.routes.length, 'route', 'routes')}`
  const { length } = notices.warnings
  const warnings = length === 0 ? '' : `, ${plural(length, 'warning', 'warnings')}`
  return `${plural(ownPolicies.length, 'policy', 'policies')}, ${plural(rules.length, 'rule', 'rules')}${routes}, store ${storeName}${warnings}`
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
