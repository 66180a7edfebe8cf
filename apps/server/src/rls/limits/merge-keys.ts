import { isUnreadable } from './scalars.js'

type Fields = Record<string, unknown>

/**
 * Resolves the merge keys (`<<`) of YAML 1.1: adds the fields of the referenced mappings that the mapping does not have. Of
 * several mappings, the first takes precedence.
 */
export function resolveMergeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolveMergeKeys)
  if (typeof value !== 'object' || value === null || isUnreadable(value)) return value
  const fields: Fields = Object.create(null)
  const { '<<': merge, ...own } = value as Fields
  for (const [name, inside] of Object.entries(own)) fields[name] = resolveMergeKeys(inside)
  for (const source of [resolveMergeKeys(merge) ?? []].flat()) {
    if (typeof source !== 'object' || source === null) return value
    for (const [name, inside] of Object.entries(source)) if (!(name in fields)) fields[name] = inside
  }
  return fields
}
