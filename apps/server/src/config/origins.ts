import type { ConfigDocument } from './document.js'

/** On which lines of the file things stand: for people who look at what is in force. */
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
