import type { Policy } from '@tidegate/core'
import { quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { policyAt } from './policies.js'

/** A caller of the API and its permissions. */
export interface Caller {
  readonly name: string
  readonly token: string
  /** The prefix that its keys must have; undefined: any key. */
  readonly keyPrefix: string | undefined
  /** The names of the policies that it may use; undefined: all. */
  readonly policies: ReadonlySet<string> | undefined
}

export function readCallers(
  document: ConfigDocument,
  policies: ReadonlyMap<string, Policy>,
  adminToken: string | undefined,
): Caller[] {
  const entries = document.at(['callers'])
  if (!Array.isArray(entries)) return []
  const names = new Set<string>()
  const tokens = new Set<string>()
  const callers: Caller[] = []
  entries.forEach((entry, i) => {
    const path = ['callers', i]
    const allowed: unknown = entry?.policies
    if (Array.isArray(allowed)) {
      for (const j of allowed.keys()) policyAt(document, [...path, 'policies', j], policies)
    }
    if (typeof entry !== 'object' || entry === null) return
    const { name, token, keyPrefix } = entry
    if (names.has(name)) {
      const message = `another caller is named ${quote(String(name))}; choose another name`
      document.addError([...path, 'name'], message)
    }
    if (tokens.has(token)) {
      document.addError([...path, 'token'], 'another caller has this token; give each caller its own token')
    } else if (token !== undefined && token === adminToken) {
      document.addError([...path, 'token'], 'must not be the admin token; give the caller its own token')
    }
    if (typeof name === 'string') names.add(name)
    if (typeof token === 'string') tokens.add(token)
    if (!document.isValid(path)) return
    const policyNames = allowed === undefined ? undefined : new Set(allowed as string[])
    callers.push(Object.freeze({ name, token, keyPrefix, policies: policyNames }))
  })
  return callers
}
