import type { ConfigDocument } from '../../config-file/document.js'

/** The lines of the file that define policies and rules. The dashboard shows them. */
export interface Origins {
  /** The lines of the policies in the file, by name. Other policies are built in. */
  readonly policies: ReadonlyMap<string, number>
  /** The line of each rule, in the order of the file. */
  readonly rules: readonly number[]
}

export function readOrigins(document: ConfigDocument): Origins {
  const policies = Object.keys((document.at(['policies']) ?? {}) as object)
  const rules = document.at(['rules'])
  return Object.freeze({
    policies: new Map(policies.map((name) => [name, document.lineOf(['policies', name])])),
    rules: (Array.isArray(rules) ? rules : []).map((_, i) => document.lineOf(['rules', i])),
  })
}
