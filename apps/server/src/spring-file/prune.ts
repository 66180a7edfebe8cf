import { isMap, isScalar, isSeq, type Node, Pair, Scalar, YAMLMap } from 'yaml'
import type { Path } from '../config-file/config-error.js'
import type { UnusedOption } from '../config-file/dialect.js'
import type { JsonSchema } from '../config-file/json-schema.js'
import { type Environment, toSchemaType } from '../config-file/variables.js'
import { isEmpty, offsetOf, offsetWithin, pairIn, type Report, textOf } from './expand.js'
import { variableOf } from './names.js'

/**
 * Copies the properties of the schema, with the types in the schema, and collects the others. Lists are copied as a whole:
 * an unknown property in an entry, such as a route, is reported later.
 */
export function pruneMap(
  map: YAMLMap,
  schema: JsonSchema,
  path: Path,
  unused: UnusedOption[],
  report: Report,
): YAMLMap {
  const result = new YAMLMap()
  result.range = map.range ?? null
  for (const { key, value } of map.items) {
    const name = textOf(key) ?? ''
    const own = schema.properties?.[name] ?? entrySchema(schema)
    if (own === undefined) {
      const scalar = isScalar(value) ? value.value : undefined
      unused.push({ path: [...path, name], offset: offsetOf(key), value: scalar, keys: keysIn(value) })
    } else if (isMap(value) && own.properties !== undefined) {
      result.items.push(new Pair(key, pruneMap(value, own, [...path, name], unused, report)))
    } else if (isMap(value) && typeof own.additionalProperties === 'object') {
      result.items.push(new Pair(key, pruneMap(value, own, [...path, name], unused, report)))
    } else if (!isEmpty(value)) {
      // A key without a value counts as missing, as in Spring.
      result.items.push(new Pair(key, withType(value, own, { name: [...path, name].join('.'), report })))
    }
  }
  return result
}

const MAX_KEYS = 1000

function keysIn(node: unknown, keys: string[] = []): string[] {
  const items = isMap(node)
    ? node.items
    : isSeq(node)
      ? node.items.filter((item) => item !== undefined).map((value) => ({ key: null, value }))
      : []
  for (const { key, value } of items) {
    if (keys.length >= MAX_KEYS) break
    const name = textOf(key)
    if (name !== undefined) keys.push(name)
    keysIn(value, keys)
  }
  return keys
}

function entrySchema({ additionalProperties }: JsonSchema): JsonSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

interface Place {
  readonly name: string
  readonly report: Report
}

/** Lists from indexes such as `routes[1]` can have gaps, which are errors in Spring too. */
function withoutGaps(items: unknown[], { name, report }: Place): unknown[] {
  const after = items.findIndex((item, i) => i > 0 && item !== undefined && items[i - 1] === undefined)
  if (after < 0) return items
  report(
    `${name}[${after}] is set, but ${name}[${after - 1}] is missing; number the entries from 0 without gaps`,
    offsetWithin(items[after]),
  )
  return items.filter((item) => item !== undefined)
}

/** Converts scalars to the type in the schema: `password: 0123` to text, and `port: "8080"` to a number. */
function withType(node: unknown, schema: JsonSchema | undefined, place: Place): unknown {
  if (isSeq(node)) {
    node.items = withoutGaps(node.items, place)
    for (const [i, item] of node.items.entries())
      node.items[i] = withType(item, schema?.items, { ...place, name: `${place.name}[${i}]` })
    return node
  }
  if (isMap(node)) {
    node.items = node.items.filter(({ key, value }) => {
      const { items, properties, type } = schema?.properties?.[textOf(key) ?? ''] ?? {}
      return !isEmpty(value) || (items === undefined && properties === undefined && type !== 'object')
    })
    for (const pair of node.items) {
      const name = textOf(pair.key) ?? ''
      pair.value = withType(pair.value, schema?.properties?.[name], {
        ...place,
        name: `${place.name}.${name}`,
      })
    }
    return node
  }
  if (!isScalar(node) || schema?.type === undefined) return node
  const types = [schema.type].flat()
  const { value, source } = node
  if (typeof value === 'string') return withValue(node, toSchemaType(value, schema))
  if (typeof value === 'number' && types.some((type) => type === 'number' || type === 'integer')) return node
  if (typeof value === 'boolean' && types.includes('boolean')) return node
  return types.includes('string') && value !== null ? withValue(node, source ?? String(value)) : node
}

function withValue(node: Scalar, value: unknown): Scalar {
  const copy = new Scalar(value)
  copy.range = node.range ?? null
  return copy
}

/**
 * Adds a placeholder for each property of the schema that the environment overrides, such as SPRING_DATA_REDIS_HOST.
 * Lists and free maps cannot be overridden.
 */
export function addOverrides(
  map: YAMLMap,
  schema: JsonSchema,
  path: readonly string[],
  env: Environment,
): void {
  for (const [name, own] of Object.entries(schema.properties ?? {})) {
    const at = [...path, name]
    if (own.properties !== undefined) {
      const inside = pairIn(map, name)?.value
      const section = isMap(inside) ? inside : new YAMLMap()
      addOverrides(section, own, at, env)
      if (section !== inside && section.items.length > 0 && !isScalar(inside)) set(map, name, section)
    } else if (
      own.items === undefined &&
      typeof own.additionalProperties !== 'object' &&
      env[variableOf(at)]
    ) {
      set(map, name, new Scalar(`\${${variableOf(at)}}`))
    }
  }
}

function set(map: YAMLMap, name: string, value: Node): void {
  const pair = pairIn(map, name)
  if (pair === undefined) map.items.push(new Pair(new Scalar(name), value))
  else pair.value = value
}
