import { TidegateError } from '@tidegate/core'
import type { Part } from '../gateway/part.js'
import { parseShortcut } from '../gateway/shortcut.js'
import type { ConfigDocument } from './document.js'
import { messageOf } from './factory.js'
import { type Path, quoted } from './mistakes.js'
import { didYouMean } from './nearest.js'

/** The predicates or the filters that there are. */
export interface Parts<Site, Made> {
  readonly kind: 'predicate' | 'filter'
  readonly known: Readonly<Record<string, Part<Site, Made>>>
  /** What Spring has and we have not, with what to do instead. */
  readonly unsupported: Readonly<Record<string, string>>
}

interface Given {
  readonly value: unknown
  readonly path: Path
}

/** One of them as it stands in the file: what it is, and what it is given. */
interface Written {
  readonly name: string
  /** In order: of a shortcut, and what is named `_genkey_0`, `_genkey_1`. */
  readonly inOrder: readonly Given[]
  readonly named: ReadonlyMap<string, Given>
}

/**
 * What stands at a path, made for a site. Both of Spring's spellings are read: `Path=/api/**`, and `name` with `args`.
 * What is wrong is noted, all of it, and then there is nothing.
 */
export function partAt<Site, Made>(
  document: ConfigDocument,
  path: Path,
  parts: Parts<Site, Made>,
  site: Site,
): Made | undefined {
  const written = writtenAt(document, path, parts.kind)
  if (written === undefined) return undefined
  const part = partNamed(document, path, written.name, parts)
  if (part === undefined) return undefined
  const given = givenTo(document, path, written, part)
  const isKnown = document.isRight(path)
  const args: Record<string, unknown> = {}
  /** Of a shortcut, the text as a whole has the place, and what is wrong in it is told together. */
  const inShortcut: string[] = []
  const wrong = (name: string, problem: string) => {
    const at = given.get(name)
    if (at !== undefined && at.path.length > path.length) document.wrong(at.path, problem)
    else inShortcut.push(`${name} ${problem}`)
  }
  let isWhole = true
  for (const [name, { read, fallback, isRequired }] of Object.entries(part.args)) {
    const at = given.get(name)
    args[name] = fallback
    if (at !== undefined) {
      attempt(
        () => {
          args[name] = read(at.value)
        },
        (problem) => wrong(name, problem),
      )
    } else if (isRequired && isKnown) wrong(name, `is missing; write for example ${part.example}`)
    if (isRequired && args[name] === undefined) isWhole = false
  }
  let made: Made | undefined
  // Also with defaults for what is wrong, so that the rest is looked at, too.
  if (isWhole) {
    attempt(
      () => {
        made = part.make(args, site)
      },
      (problem, field) => {
        if (field === undefined || !Object.hasOwn(part.args, field))
          document.wrong(path, `${written.name}: ${problem}`)
        else if (inShortcut.length === 0) wrong(field, problem)
      },
    )
  }
  if (inShortcut.length > 0) document.wrong(path, `${written.name}: ${inShortcut.join('; and ')}`)
  return document.isRight(path) ? made : undefined
}

function writtenAt(document: ConfigDocument, path: Path, kind: string): Written | undefined {
  const value = document.at(path)
  if (typeof value === 'string') {
    const { name, values } = parseShortcut(value)
    return { name, inOrder: values.map((value) => ({ value, path })), named: new Map() }
  }
  if (!isObject(value)) return undefined
  const { name, args } = value
  if (typeof name !== 'string') return undefined
  const flat = new Map<string, Given>()
  if (Array.isArray(args)) {
    document.wrong(
      [...path, 'args'],
      `of a ${kind} are names and values; write for example args: { name: value }`,
    )
  } else if (isObject(args)) flatten(args, [...path, 'args'], '', flat)
  const inOrder: Given[] = []
  const named = new Map<string, Given>()
  for (const [key, given] of flat) {
    const place = /^_genkey_(\d{1,3})$/.exec(key)?.[1]
    if (place === undefined) named.set(key, given)
    else inOrder[Number(place)] = given
  }
  return { name, inOrder: inOrder.filter((given) => given !== undefined), named }
}

/** `{ redis-rate-limiter: { replenishRate: 1 } }` as `redis-rate-limiter.replenishRate`. */
function flatten(args: Record<string, unknown>, path: Path, before: string, into: Map<string, Given>): void {
  for (const [key, value] of Object.entries(args)) {
    if (isObject(value)) flatten(value, [...path, key], `${before}${key}.`, into)
    else into.set(before + key, { value, path: [...path, key] })
  }
}

function partNamed<Site, Made>(
  document: ConfigDocument,
  path: Path,
  name: string,
  { kind, known, unsupported }: Parts<Site, Made>,
): Part<Site, Made> | undefined {
  if (Object.hasOwn(known, name)) return known[name]
  const at = isObject(document.at(path)) ? [...path, 'name'] : path
  if (Object.hasOwn(unsupported, name)) {
    document.wrong(at, `the ${kind} ${name} of Spring is not supported: ${unsupported[name]}`)
    return undefined
  }
  const names = Object.keys(known)
  const instead = didYouMean(name, names) ?? `there is only ${names.join(', ')}`
  document.wrong(at, `there is no ${kind} ${quoted(name)}; ${instead}`)
  return undefined
}

/** What each argument of the part is given, however it is named; what means none of them is noted. */
function givenTo<Site, Made>(
  document: ConfigDocument,
  path: Path,
  { name: of, inOrder, named }: Written,
  { args, shortcut, isList, example }: Part<Site, Made>,
): Map<string, Given> {
  const given = new Map<string, Given>()
  const names = new Map(Object.keys(args).map((name) => [alike(name), name]))
  for (const [key, value] of named) {
    // Where Spring takes a list, it takes it under any name; this is the one that people use.
    const name =
      names.get(alike(key)) ??
      names.get(withoutPrefix(key, of)) ??
      (isList && key === 'pattern' ? 'patterns' : undefined)
    if (name === undefined) {
      const known = Object.keys(args)
      const instead =
        didYouMean(key, known) ?? (known.length === 0 ? 'it takes none' : `there is only ${known.join(', ')}`)
      document.wrong(value.path, `is not known to ${of}; ${instead}`, 'key')
    } else if (given.has(name)) document.wrong(value.path, 'is here twice; keep one', 'key')
    else given.set(name, value)
  }
  const [first] = inOrder
  if (first === undefined) return given
  if (isList) {
    given.set(shortcut[0]!, { value: inOrder.map(({ value }) => value), path: first.path })
    return given
  }
  if (inOrder.length > shortcut.length) {
    const most = shortcut.length === 0 ? 'no values after the name' : `at most ${shortcut.length}`
    const why =
      shortcut.length === 0 ? `write ${example}` : 'a value with a comma in it is written with name and args'
    document.wrong(path, `${of} takes ${most}, got ${inOrder.length}; ${why}`)
  }
  shortcut.forEach((name, i) => {
    if (inOrder[i] !== undefined) given.set(name, inOrder[i])
  })
  return given
}

/** `key-resolver` and `keyResolver` are one name, as they are in Spring. */
function alike(name: string): string {
  return name.replaceAll('-', '').toLowerCase()
}

/** `weight.group` of Weight: Spring has it under no other name. */
function withoutPrefix(key: string, part: string): string {
  const prefix = `${part.toLowerCase()}.`
  return alike(key.startsWith(prefix) ? key.slice(prefix.length) : key)
}

function attempt(what: () => void, otherwise: (problem: string, field: string | undefined) => void): void {
  try {
    what()
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    otherwise(messageOf(error), error.field)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
