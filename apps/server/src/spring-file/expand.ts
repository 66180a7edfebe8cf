import { isAlias, isMap, isScalar, isSeq, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { type JsonSchema, schemaOf } from '../config-file/json-schema.js'
import { relaxedName, type Step, stepsOf } from './names.js'

/*
 * Normalizes the keys of a YAML document: dotted keys become nested maps, and other spellings of a name become the one
 * in the schema. Nodes keep their positions in the text.
 */

/** Called for errors, with an offset in the text. */
export type Report = (message: string, offset: number) => void

/** Aliases can expand a short file to very many values. */
const MAX_NODES = 200_000

/** Expands the keys for which `isProperty` holds. Other keys are kept as they are. */
export function expandDocument(
  contents: unknown,
  schema: JsonSchema,
  isProperty: (key: string) => boolean,
  report: Report,
): YAMLMap | undefined {
  const anchors = new Map<string, unknown>()
  const openNodes = new Set<unknown>()
  let count = 0
  if (!isMap(contents)) return undefined
  const root = new YAMLMap()
  const keys = new Set<string>()
  for (const pair of contents.items) {
    const key = textOf(pair.key)
    if (key === undefined) continue
    reportDuplicate(keys, key, pair.key)
    if (isProperty(key)) insert(root, stepsOf(key), pair.key, pair.value, schema)
    else root.items.push(new Pair(pair.key, resolveAlias(pair.value)))
  }
  if (count > MAX_NODES) {
    report(`the aliases expand this file to more than ${MAX_NODES.toLocaleString('en')} values`, 0)
    return undefined
  }
  return root

  function reportDuplicate(keys: Set<string>, key: string, node: unknown): void {
    if (keys.has(key)) report(`duplicate key ${JSON.stringify(key)}; keep one`, offsetOf(node))
    keys.add(key)
  }

  function expand(node: unknown, schema: JsonSchema | undefined): Node | null {
    if (++count > MAX_NODES) return null
    if (isAlias(node)) {
      const target = anchors.get(node.source)
      // Reported later, when the values are read.
      if (target === undefined || openNodes.has(target)) return node
      return expand(target, schema)
    }
    const { anchor } = (node ?? {}) as { anchor?: string }
    if (anchor !== undefined) anchors.set(anchor, node)
    if (!isMap(node) && !isSeq(node)) return (node ?? null) as Node | null
    openNodes.add(node)
    const inside = isMap(node) ? expandMap(node, schema) : expandList(node, schema)
    openNodes.delete(node)
    return inside
  }

  function expandMap(map: YAMLMap, schema: JsonSchema | undefined): YAMLMap {
    const result = new YAMLMap()
    result.range = map.range ?? null
    const keys = new Set<string>()
    const merged: unknown[] = []
    for (const { key, value } of map.items) {
      const text = textOf(key)
      if (text === undefined) {
        result.items.push(new Pair(key, expand(value, undefined)))
        continue
      }
      reportDuplicate(keys, text, key)
      if (text === '<<') merged.push(value)
      else insert(result, stepsIn(schema, text), key, value, schema)
    }
    for (const value of merged) merge(result, expand(value, schema))
    return result
  }

  function expandList(list: YAMLSeq, schema: JsonSchema | undefined): YAMLSeq {
    const result = new YAMLSeq()
    result.range = list.range ?? null
    result.items = list.items.map((item) => expand(item, schemaOf(schema, 0)))
    return result
  }

  function insert(
    map: YAMLMap,
    [step = '', ...inside]: readonly Step[],
    key: unknown,
    value: unknown,
    schema: JsonSchema | undefined,
  ): void {
    const name = nameIn(schema, String(step))
    const own = schemaOf(schema, name)
    set(map, name, key, valueAt(inside, key, value, own), reportRepeated)
  }

  /** Another spelling of a name, such as `defaultFilters`, must not replace the value of the first. */
  function reportRepeated(name: string, key: unknown): void {
    report(`duplicate option ${JSON.stringify(name)} in another spelling; keep one`, offsetOf(key))
  }

  function valueAt(
    steps: readonly Step[],
    key: unknown,
    value: unknown,
    schema: JsonSchema | undefined,
  ): Node | null {
    const [step, ...inside] = steps
    if (step === undefined) return expand(value, schema)
    if (typeof step === 'number') {
      const list = new YAMLSeq()
      list.items[step] = valueAt(inside, key, value, schemaOf(schema, step))
      return list
    }
    const map = new YAMLMap()
    // The keys of free maps, such as the arguments of filters, may contain dots.
    if (!hasNames(schema) && typeof schema?.additionalProperties !== 'object')
      set(map, steps.join('.'), key, expand(value, undefined), reportRepeated)
    else insert(map, steps, key, value, schema)
    return map
  }

  /** Resolves an alias outside of Spring's own sections. */
  function resolveAlias(node: unknown): Node | null {
    return isMap(node) || isSeq(node) ? (node as Node) : expand(node, undefined)
  }
}

/** Overrides the entries of earlier documents with those of a later one. Lists are replaced as a whole. */
export function overlay(below: YAMLMap, above: YAMLMap): void {
  for (const { key, value } of above.items) {
    const name = textOf(key) ?? ''
    const before = pairIn(below, name)
    if (before === undefined) below.items.push(new Pair(key, value))
    else if (isMap(before.value) && isMap(value)) overlay(before.value, value)
    else {
      before.key = key
      before.value = value
    }
  }
}

/** Adds an entry to a map of the same document. Maps and lists are merged; a second value is reported. */
function set(
  map: YAMLMap,
  name: string,
  key: unknown,
  value: Node | null,
  reportRepeated: (name: string, key: unknown) => void,
): void {
  const before = pairIn(map, name)
  if (before === undefined) {
    map.items.push(new Pair(keyNode(name, key), value))
  } else if (isMap(before.value) && isMap(value)) {
    setAll(before.value, value)
  } else if (isSeq(before.value) && isSeq(value)) {
    for (const [i, item] of value.items.entries()) {
      const existing = before.value.items[i]
      if (item === undefined) continue
      if (isMap(existing) && isMap(item)) setAll(existing, item)
      else if (existing === undefined) before.value.items[i] = item
      else reportRepeated(`${name}[${i}]`, key)
    }
  } else if (isEmpty(before.value)) before.value = value
  else if (!isEmpty(value)) reportRepeated(name, key)

  function setAll(map: YAMLMap, entries: YAMLMap): void {
    for (const { key, value } of entries.items)
      set(map, textOf(key) ?? '', key, value as Node, reportRepeated)
  }
}

/** Adds the entries of `<<` that the map does not have. */
function merge(map: YAMLMap, source: unknown): void {
  if (isSeq(source)) for (const item of source.items) merge(map, item)
  if (!isMap(source)) return
  for (const pair of source.items) {
    if (pairIn(map, textOf(pair.key) ?? '') === undefined) map.items.push(pair)
  }
}

function keyNode(name: string, key: unknown): Scalar {
  const node = new Scalar(name)
  node.range = (key as Node | null)?.range ?? null
  return node
}

interface PairIndex {
  readonly items: readonly Pair<unknown, unknown>[]
  readonly byName: Map<string | undefined, Pair<unknown, unknown>>
  indexed: number
}

const indexes = new WeakMap<YAMLMap, PairIndex>()

/** The first pair with this key. Pairs may be appended to the map or replaced as a whole list, but keep their names. */
export function pairIn(map: YAMLMap, name: string): Pair<unknown, unknown> | undefined {
  const { items } = map
  let index = indexes.get(map)
  if (index?.items !== items) {
    index = { items, byName: new Map(), indexed: 0 }
    indexes.set(map, index)
  }
  for (; index.indexed < items.length; index.indexed++) {
    const pair = items[index.indexed]!
    const text = textOf(pair.key)
    if (!index.byName.has(text)) index.byName.set(text, pair)
  }
  return index.byName.get(name)
}

export function textOf(key: unknown): string | undefined {
  return isScalar(key) && key.value !== null ? String(key.value) : undefined
}

export function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null)
}

/** The offset of a node. A list or map that results from dotted keys has the offset of its first key. */
export function offsetWithin(node: unknown): number {
  if (isMap(node) && !node.range) return offsetOf(node.items[0]?.key)
  if (isSeq(node) && !node.range) return offsetWithin(node.items.find((item) => item !== undefined))
  return offsetOf(node)
}

export function offsetOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0
}

/** The name in the spelling of the schema, if the schema has it. */
function nameIn(schema: JsonSchema | undefined, name: string): string {
  const { properties = {} } = schema ?? {}
  if (Object.hasOwn(properties, name)) return name
  const relaxed = relaxedName(name)
  return Object.keys(properties).find((property) => relaxedName(property) === relaxed) ?? name
}

/** Whether the keys of a map are names of properties, and not values such as paths. */
function hasNames(schema: JsonSchema | undefined): boolean {
  return schema === undefined || schema.properties !== undefined
}

/** The steps of a key. A key such as a path may contain dots, but not the index of a list: `orders[0].uri`. */
function stepsIn(schema: JsonSchema | undefined, key: string): Step[] {
  const isMapOfLists = schemaOf(schema, '')?.type === 'array'
  return hasNames(schema) || (isMapOfLists && /\[\d+\]/.test(key)) ? stepsOf(key) : [withoutBrackets(key)]
}

function withoutBrackets(key: string): string {
  return /^\[(.*)\]$/s.exec(key)?.[1] ?? key
}
