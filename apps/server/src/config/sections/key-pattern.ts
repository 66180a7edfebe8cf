import type { ConfigDocument } from '../../config-file/document.js'
import { optionOf } from '../../config-file/options.js'
import { compileRegExp, type LinearRegExp } from '../../linear-regexp.js'

/** The whole key must match: a pattern that may match anywhere would accept keys that it was written to reject. */
export function readKeyPattern(document: ConfigDocument): LinearRegExp | undefined {
  const source = optionOf(document).textIfAny('keyPattern')
  if (source === undefined) return undefined
  const compiled = compileRegExp(source)
  if (!('problem' in compiled)) return compiled
  document.addError(['keyPattern'], `is not a valid regular expression: ${compiled.problem}`)
  return undefined
}
