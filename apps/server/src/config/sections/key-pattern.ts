import type { ConfigDocument } from '../../config-file/document.js'
import { optionOf } from '../../config-file/options.js'
import { compileRegExp, type LinearRegExp } from '../../linear-regexp.js'

/** Reads the pattern, which must match the whole key: a match of a part would accept keys that the pattern excludes. */
export function readKeyPattern(document: ConfigDocument): LinearRegExp | undefined {
  const source = optionOf(document).textIfAny('keyPattern')
  if (source === undefined) return undefined
  const compiled = compileRegExp(source)
  if (!('problem' in compiled)) return compiled
  document.addError(['keyPattern'], `is not a valid regular expression: ${compiled.problem}`)
  return undefined
}
