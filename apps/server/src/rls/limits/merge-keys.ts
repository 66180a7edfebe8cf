import { isUnreadable } from './scalars.js'

type Fields = Record<string, unknown>

/**
 * Resolves the merge keys (`<<`) of YAML 1.1: the fields of the named mapping or mappings, unless the mapping has them
 * itself. Of several mappings, the first counts.
 */
export function mergedValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mergedValues)
  if (typeof value !== 'object' || value === null || isUnreadable(value)) return value
  const fields: Fields = Object.create(null)
  const { '<<': merge, ...own } = value as Fields
  for (const [name, inside] of Object.entries(own)) fields[name] = mergedValues(inside)
  for (const source of [mergedValues(merge) ?? []].flat()) {
    if (typeof source !== 'object' || source === null) return value
    for (const [name, inside] of Object.entries(source)) if (!(name in fields)) fields[name] = inside
  }
  return fields
}
