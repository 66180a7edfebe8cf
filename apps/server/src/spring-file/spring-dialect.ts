import { type Document, isMap, isScalar, isSeq, YAMLMap } from 'yaml'
import { commaList } from '../config-file/comma-list.js'
import type { Path } from '../config-file/config-error.js'
import type { Dialect, UnusedOption } from '../config-file/dialect.js'
import type { JsonSchema } from '../config-file/json-schema.js'
import type { Environment } from '../config-file/variables.js'
import { addInstances } from './environment-instances.js'
import { expandDocument, offsetOf, overlay, pairIn, textOf } from './expand.js'
import { relaxedName } from './names.js'
import { matchesProfiles } from './profiles.js'
import { relaxedPath, replacePlaceholders } from './property-placeholders.js'
import { addOverrides, pruneMap } from './prune.js'

export interface SpringOptions {
  readonly env: Environment
  /** The active profiles, separated by commas. Default: SPRING_PROFILES_ACTIVE, or those of the file. */
  readonly profiles?: string | undefined
}

/** The sections of the schema that a Spring application has too. */
export const SECTIONS: readonly string[] = ['spring', 'server', 'management', 'resilience4j']

/** Reads an `application.yml`: a file with a section `spring`. */
export function springDialect({ env, profiles }: SpringOptions): Dialect {
  return (documents, schema, report) => {
    if (!documents.some(isSpring)) return undefined
    const isOwn = (key: string) => Object.hasOwn(schema.properties ?? {}, key) && !SECTIONS.includes(key)
    const maps = documents.flatMap(({ contents }) => {
      const map = expandDocument(contents, schema, (key) => !isOwn(key), report)
      return map === undefined ? [] : [map]
    })
    const active = activeProfiles(maps, env, profiles)
    const unused: UnusedOption[] = []
    const merged = new YAMLMap()
    for (const map of maps) {
      const condition = conditionOf(map)
      const applies = condition === undefined || matchesProfiles(condition.text, active)
      if (applies === undefined) {
        report(
          `${JSON.stringify(condition?.text)} is not a valid profile expression; write for example prod | staging`,
          condition?.offset ?? 0,
        )
      } else if (applies) overlay(merged, map)
      else
        unused.push({
          path: ['document for profile', condition?.text ?? ''],
          offset: condition?.offset ?? 0,
          value: undefined,
          keys: [],
        })
    }
    const properties = propertiesOf(merged)
    const contents = new YAMLMap()
    for (const pair of merged.items) {
      const key = textOf(pair.key) ?? ''
      if (isOwn(key)) contents.items.push(pair)
    }
    const rest = merged.items.filter(({ key }) => !isOwn(textOf(key) ?? ''))
    const spring = new YAMLMap()
    spring.items = rest
    const sections = sectionsOf(schema)
    const pruned = pruneMap(spring, sections, [], unused, report)
    addOverrides(pruned, sections, [], env)
    addInstances(pruned, env)
    contents.items.push(...pruned.items)
    return {
      contents,
      unused: [...unused.filter(({ path }) => !isConsumed(path)), ...unusedVariables(env)],
      profiles: [...active],
      isForeign: (path) => SECTIONS.includes(String(path[0])),
      replace: (written) => replacePlaceholders(written, env, (name) => properties.get(name)),
    }
  }
}

/** Variables that change routes or add properties in Spring, and are not read. */
const UNUSED_VARIABLE =
  /^SPRING_(APPLICATION_JSON|CONFIG_IMPORT|CLOUD_GATEWAY_(SERVER_WEBFLUX_)?(ROUTES|DEFAULT_?FILTERS)(_\w*)?)$/

function unusedVariables(env: Environment): UnusedOption[] {
  const names = Object.keys(env).filter((name) => UNUSED_VARIABLE.test(name) && env[name])
  return names.map((name) => ({ path: [name], offset: undefined, value: undefined, keys: [] }))
}

function sectionsOf(schema: JsonSchema): JsonSchema {
  const own = Object.entries(schema.properties ?? {}).filter(([name]) => SECTIONS.includes(name))
  return { properties: Object.fromEntries(own) }
}

function isSpring({ contents }: Document): boolean {
  return isMap(contents) && contents.items.some(({ key }) => /^spring($|\.)/.test(textOf(key) ?? ''))
}

/** Whether an option was used to choose the documents. */
function isConsumed(path: Path): boolean {
  const name = path.join('.')
  return name === 'spring.profiles' || name === 'spring.config.activate'
}

/** The profile condition of a document; undefined if it applies to all profiles. */
function conditionOf(map: YAMLMap): { text: string; offset: number } | undefined {
  const activate = nodeAt(map, ['spring', 'config', 'activate'])
  const condition =
    (isMap(activate) ? pairNamed(activate, 'on-profile')?.value : undefined) ??
    // The spelling before Spring Boot 2.4.
    scalarOrList(nodeAt(map, ['spring', 'profiles']))
  // The platform is unknown, so a document for a platform never applies.
  const platform = isMap(activate) ? pairNamed(activate, 'on-cloud-platform')?.value : undefined
  const text = condition === undefined ? undefined : namesIn(condition)
  if (isScalar(platform) && platform.value !== 'none')
    return { text: `cloud-platform:${platform.value}`, offset: offsetOf(platform) }
  return text === undefined ? undefined : { text, offset: offsetOf(condition) }
}

function scalarOrList(node: unknown): unknown {
  return isScalar(node) || isSeq(node) ? node : undefined
}

/** The active profiles: those of the option, of the environment, or of the documents without a condition. */
function activeProfiles(maps: readonly YAMLMap[], env: Environment, option: string | undefined): Set<string> {
  const unconditional = maps.filter((map) => conditionOf(map) === undefined)
  const read = (...path: string[]) => {
    const nodes = unconditional
      .map((map) => nodeAt(map, ['spring', 'profiles', ...path]))
      .filter((node) => node !== undefined)
    const text = nodes.length === 0 ? undefined : namesIn(nodes.at(-1))
    const replaced = text === undefined ? undefined : replacePlaceholders(text, env, () => undefined)
    return replaced !== undefined && 'text' in replaced ? commaList(replaced.text) : []
  }
  const text = option ?? (env.SPRING_PROFILES_ACTIVE || undefined)
  const active = new Set(text === undefined ? read('active') : commaList(text))
  for (const name of read('include')) active.add(name)
  // A set also iterates entries that are added meanwhile, so groups of groups are included.
  for (const name of active) for (const member of read('group', name)) active.add(member)
  if (active.size === 0) for (const name of read('default')) active.add(name)
  return active.size === 0 ? new Set(['default']) : active
}

/** A text, or the entries of a list separated by commas. */
function namesIn(node: unknown): string | undefined {
  if (isSeq(node)) return node.items.map((item) => textOf(item) ?? '').join(',')
  return textOf(node)
}

function nodeAt(map: YAMLMap, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, step) => (isMap(node) ? pairNamed(node, step)?.value : undefined), map)
}

function pairNamed(map: YAMLMap, name: string) {
  return (
    pairIn(map, name) ?? map.items.find(({ key }) => relaxedName(textOf(key) ?? '') === relaxedName(name))
  )
}

/** All properties of the file by their relaxed names, such as `app.eurekaserver`. */
function propertiesOf(map: YAMLMap): Map<string, string> {
  const properties = new Map<string, string>()
  collect(map, '')
  return properties

  function collect(node: unknown, name: string): void {
    if (isMap(node)) {
      for (const { key, value } of node.items) {
        collect(
          value,
          name === '' ? relaxedPath(textOf(key) ?? '') : `${name}.${relaxedName(textOf(key) ?? '')}`,
        )
      }
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) collect(item, `${name}[${i}]`)
    } else if (isScalar(node)) {
      properties.set(name, node.value === null ? '' : (node.source ?? String(node.value)))
    }
  }
}
