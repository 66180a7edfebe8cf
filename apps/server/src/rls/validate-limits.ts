import { policyTerms, type RlsSettings } from './config/rls-config.js'
import { formatFileErrors } from './format-file-errors.js'
import { readLimitFiles } from './limits/limit-files.js'
import { type FileErrors, loadLimits } from './limits/load-limits.js'

/** The number of domains and rules in limit files, or their errors. */
export interface ValidatedLimits {
  readonly domains: number
  readonly rules: number
  /** One line per error; empty if the files are valid. */
  readonly errors: string
  readonly fileErrors: readonly FileErrors[]
}

type Settings = Pick<RlsSettings, 'mergeDomains' | 'onStoreFailure' | 'instances'>

export function validateLimits(paths: readonly string[], settings: Settings): ValidatedLimits {
  const { onStoreFailure, instances, mergeDomains } = settings
  const terms = policyTerms({ onStoreFailure, instances })
  const loaded = loadLimits(readLimitFiles(paths), { ...terms, mergeDomains })
  if ('errors' in loaded) {
    const { errors } = loaded
    return { domains: 0, rules: 0, errors: formatFileErrors(errors), fileErrors: errors }
  }
  const { domains, ruleCount } = loaded.limits
  return { domains: domains.size, rules: ruleCount, errors: '', fileErrors: [] }
}
