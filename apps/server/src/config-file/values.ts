import { isAlias, isMap, isScalar, isSeq, type Scalar } from 'yaml'
import type { Path } from './config-error.js'
import { type JsonSchema, schemaOf } from './json-schema.js'

/** The context for reading the values of a document. */
export interface ValueReader {
  readonly schema: JsonSchema
  /** Called with the offsets of each value and its key. */
  place(path: Path, keyOffset: number, valueOffset: number): void
  addError(path: Path, message: string, offset?: number): void
  /** Replaces the variables of a text. */
  text(written: string, schema: JsonSchema | undefined, path: Path): unknown
  /** Reads a scalar instead of the default, YAML 1.2 with variables. */
  readonly scalar?: ((node: Scalar, path: Path) => unknown) | undefined
}

/** Aliases can expand a short file to very many values. */
const MAX_VALUES = 200_000

/**
 * Converts a document to objects, lists and scalars; undefined if it has too many values. Objects have no prototype, so
 * that `__proto__` is an ordinary key.
 */
export function valuesOf(
  contents: unknown,
  { schema, place, addError, text, scalar: readScalar }: ValueReader,
): unknown {
  let count = 0
  /** The collections that are being read: an alias of one of these would recurse forever. */
  const openNodes = new Set<unknown>()
  /** The last anchor of each name. The library would search the whole document for each alias. */
  const anchors = new Map<string, unknown>()
  let aliasesOpen = 0
  const value = read(contents, schema, [], 0)
  return count > MAX_VALUES ? undefined : value

  function read(node: unknown, schema: JsonSchema | undefined, path: Path, keyOffset: number): unknown {
    const offset = startOf(node) ?? keyOffset
    place(path, keyOffset, offset)
    if (++count > MAX_VALUES) {
      addError([], `the aliases expand this file to more than ${MAX_VALUES.toLocaleString('en')} values`)
      return undefined
    }
    if (isAlias(node)) return readAlias(node.source, schema, path, keyOffset)
    const { anchor } = (node ?? {}) as { anchor?: string }
    if (anchor !== undefined && aliasesOpen === 0) anchors.set(anchor, node)
    if (isMap(node) || isSeq(node)) {
      openNodes.add(node)
      const inside = isMap(node) ? readMap(node.items, schema, path) : readList(node.items, schema, path)
      openNodes.delete(node)
      return inside
    }
    if (readScalar !== undefined && isScalar(node)) return readScalar(node, path)
    const scalar = isScalar(node) ? node.value : null
    if (typeof scalar === 'string') return text(scalar, schema, path)
    if (scalar === null || typeof scalar === 'number' || typeof scalar === 'boolean') return scalar
    addError(path, 'must be text, a number, true or false')
    return undefined
  }

  function readAlias(name: string, schema: JsonSchema | undefined, path: Path, keyOffset: number): unknown {
    const target = anchors.get(name)
    if (target === undefined || openNodes.has(target)) {
      const problem =
        target === undefined
          ? `unknown anchor *${name}; write &${name} at the value to repeat, before this line`
          : `the anchor *${name} contains itself; write the value out`
      addError(path, problem)
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
        addError(path, 'a key must be text; put it in quotes', offset)
      } else if (name in object) {
        addError([...path, name], 'duplicate key; keep one', offset)
      } else {
        const inside = schemaOf(schema, name)
        const content = read(value, inside, [...path, name], offset)
        // An empty section, with all its options commented out, counts as missing.
        const isSection = path.length === 0 && (inside?.type === 'object' || inside?.type === 'array')
        if (content !== null || !isSection) object[name] = content
      }
    }
    return object
  }

  function readList(items: readonly unknown[], schema: JsonSchema | undefined, path: Path) {
    return items.map((item, i) => read(item, schemaOf(schema, i), [...path, i], entryStart(item)))
  }
}

/** The offset of a list's entry. A map that results from dotted keys has that of its first key. */
function entryStart(item: unknown): number {
  return startOf(item) ?? (isMap(item) ? startOf(item.items[0]?.key) : undefined) ?? 0
}

function startOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null)?.range?.[0]
}
