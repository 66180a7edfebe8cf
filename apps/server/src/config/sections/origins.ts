import type { ConfigDocument } from '../../config-file/document.js'

/** The lines of the file that define policies and rules, for the page's list of the active configuration. */
export interface Origins {
  /** The policies that the file has, by name. The others are built in. */
  readonly policies: ReadonlyMap<string, number>
  /** Of each rule, in their order. */
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
