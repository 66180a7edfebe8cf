import { type Document, isAlias, isMap, isScalar, isSeq } from 'yaml'
import { type JsonSchema, schemaOf } from './json-schema.js'
import type { Path } from './mistakes.js'

/** What reading the values of a document needs to know and to tell. */
export interface ValueReader {
  readonly schema: JsonSchema
  /** Told where each value and its key begin. */
  place(path: Path, keyOffset: number, valueOffset: number): void
  wrong(path: Path, message: string, offset?: number): void
  /** What a text stands for. */
  text(written: string, schema: JsonSchema | undefined, path: Path): unknown
}

/** With aliases a short file can stand for a very long one. */
const MAX_VALUES = 200_000

/**
 * The plain data of a document; undefined if it is too much. Objects have no prototype, so a key such as
 * `__proto__` is one like any other.
 */
export function valuesOf(document: Document, { schema, place, wrong, text }: ValueReader): unknown {
  let count = 0
  /** What is being read: an alias of one of these would never end. */
  const open = new Set<unknown>()
  /** The last of each name so far. The library's own way looks through the whole document for each alias. */
  const anchors = new Map<string, unknown>()
  let aliasesOpen = 0
  const value = read(document.contents, schema, [], 0)
  return count > MAX_VALUES ? undefined : value

  function read(node: unknown, schema: JsonSchema | undefined, path: Path, keyOffset: number): unknown {
    const offset = startOf(node) ?? keyOffset
    place(path, keyOffset, offset)
    if (++count > MAX_VALUES) {
      wrong([], `aliases make this file longer than ${MAX_VALUES.toLocaleString('en')} values`)
      return undefined
    }
    if (isAlias(node)) return readAlias(node.source, schema, path, keyOffset)
    const { anchor } = (node ?? {}) as { anchor?: string }
    if (anchor !== undefined && aliasesOpen === 0) anchors.set(anchor, node)
    if (isMap(node) || isSeq(node)) {
      open.add(node)
      const inside = isMap(node) ? readMap(node.items, schema, path) : readList(node.items, schema, path)
      open.delete(node)
      return inside
    }
    const scalar = isScalar(node) ? node.value : null
    if (typeof scalar === 'string') return text(scalar, schema, path)
    if (scalar === null || typeof scalar === 'number' || typeof scalar === 'boolean') return scalar
    wrong(path, 'must be text, a number, true or false')
    return undefined
  }

  function readAlias(name: string, schema: JsonSchema | undefined, path: Path, keyOffset: number): unknown {
    const target = anchors.get(name)
    if (target === undefined || open.has(target)) {
      const why = target === undefined ? `names nothing; write &${name} before it` : 'contains itself'
      wrong(path, `*${name} ${why}`)
      return undefined
    }
    aliasesOpen++
    const inside = read(target, schema, path, keyOffset)
    aliasesOpen--
    return inside
  }

  function readMap(
    pairs: readonly { key: unknown; value: unknown }[],
    schema: JsonSchema | undefined,
    path: Path,
  ) {
    const object: Record<string, unknown> = Object.create(null)
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? key.value : undefined
      const offset = startOf(key) ?? 0
      if (typeof name !== 'string') {
        wrong(path, 'a key must be text', offset)
      } else if (name in object) {
        wrong([...path, name], 'is here twice; keep one', offset)
      } else {
        const inside = schemaOf(schema, name)
        const content = read(value, inside, [...path, name], offset)
        // A section of which everything is commented out is as good as not there.
        const isSection = path.length === 0 && (inside?.type === 'object' || inside?.type === 'array')
        if (content !== null || !isSection) object[name] = content
      }
    }
    return object
  }

  function readList(items: readonly unknown[], schema: JsonSchema | undefined, path: Path) {
    return items.map((item, i) => read(item, schemaOf(schema, i), [...path, i], startOf(item) ?? 0))
  }
}

function startOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null)?.range?.[0]
}
