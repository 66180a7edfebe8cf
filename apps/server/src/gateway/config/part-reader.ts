import { TidegateError } from '@tidegate/core'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { errorMessageWithoutField } from '../../config-file/factory.js'
import { choiceOf, didYouMean } from '../../config-file/suggestions.js'
import type { Part } from '../spring/part.js'
import { parseShortcut } from '../spring/shortcut.js'

/** All supported predicates or filters. */
export interface PartCatalog<Site, Made> {
  readonly kind: 'predicate' | 'filter'
  readonly known: Readonly<Record<string, Part<Site, Made>>>
  /** Names that only Spring supports, with advice. */
  readonly unsupported: Readonly<Record<string, string>>
  /** Names that only Spring supports, and that are left out with a warning. Default: none. */
  readonly withoutEffect?: Readonly<Record<string, string>>
  /** Names in `gateway.ignoreFilters`. Default: none. */
  readonly ignored?: ReadonlySet<string>
}

interface Given {
  readonly value: unknown
  readonly path: Path
}

/** A predicate or filter as written in the file. */
interface Written {
  readonly name: string
  /** Values by position: of a shortcut, or named `_genkey_0`, `_genkey_1`. */
  readonly inOrder: readonly Given[]
  readonly named: ReadonlyMap<string, Given>
}

/**
 * Reads the predicate or filter at a path, in either spelling of Spring: `Path=/api/**`, or `name` with `args`.
 * Reports all errors, and returns undefined if there are any.
 */
export function readPart<Site, Made>(
  document: ConfigDocument,
  path: Path,
  parts: PartCatalog<Site, Made>,
  site: Site,
): Made | undefined {
  const written = writtenAt(document, path, parts.kind)
  if (written === undefined) return undefined
  if (isLeftOut(document, path, written.name, parts)) return undefined
  const part = partNamed(document, path, written.name, parts)
  if (part === undefined) return undefined
  const given = givenTo(document, path, part.hasNamedShortcut ? withNames(written) : written, part)
  const isKnown = document.isValid(path)
  const args: Record<string, unknown> = {}
  /** Errors of a shortcut are reported together, at the position of the whole text. */
  const inShortcut: string[] = []
  const wrong = (name: string, problem: string) => {
    const at = given.get(name)
    if (at !== undefined && at.path.length > path.length) document.addError(at.path, problem)
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
  let result: Made | undefined
  // Build it with defaults for invalid arguments, so that the others are checked too.
  if (isWhole) {
    attempt(
      () => {
        result = part.make(args, site)
      },
      (problem, field) => {
        if (field === undefined || !Object.hasOwn(part.args, field))
          document.addError(path, `${written.name}: ${problem}`)
        else if (inShortcut.length === 0) wrong(field, problem)
      },
    )
  }
  if (inShortcut.length > 0) document.addError(path, `${written.name}: ${inShortcut.join('; and ')}`)
  return document.isValid(path) ? result : undefined
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
    document.addError(
      [...path, 'args'],
      `of a ${kind} must be names and values; write for example args: { name: value }`,
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

/** Warns about a part that is left out. */
function isLeftOut<Site, Made>(
  document: ConfigDocument,
  path: Path,
  name: string,
  { kind, withoutEffect = {}, ignored }: PartCatalog<Site, Made>,
): boolean {
  const isIgnored = ignored?.has(name) === true
  const why = isIgnored ? 'it is listed in gateway.ignoreFilters' : withoutEffect[name]
  if (!isIgnored && !Object.hasOwn(withoutEffect, name)) return false
  document.addWarning(path, `the ${kind} ${name} is ignored: ${why}`)
  return true
}

function partNamed<Site, Made>(
  document: ConfigDocument,
  path: Path,
  name: string,
  { kind, known, unsupported }: PartCatalog<Site, Made>,
): Part<Site, Made> | undefined {
  if (Object.hasOwn(known, name)) return known[name]
  const at = isObject(document.at(path)) ? [...path, 'name'] : path
  if (Object.hasOwn(unsupported, name)) {
    document.addError(at, `the ${kind} ${name} of Spring is not supported: ${unsupported[name]}`)
    return undefined
  }
  const names = Object.keys(known)
  if (kind === 'filter' && path[0] === 'spring') {
    const near = didYouMean(
      name,
      names.filter((other) => other[0] === name[0]),
    )
    const isClassName = /^[\w$.-]+$/.test(name)
    const advice = !isClassName
      ? 'write a name with values, such as StripPrefix=1'
      : `if it is a class of your application, and the routes are safe without it, write gateway: { ignoreFilters: [${name}] }`
    document.addError(
      at,
      `there is no filter ${quote(name)}; ${near === undefined ? '' : `${near} `}${advice}`,
    )
    return undefined
  }
  const instead = didYouMean(name, names) ?? choiceOf(names)
  document.addError(at, `there is no ${kind} ${quote(name)}; ${instead}`)
  return undefined
}

/** Treats `name=value` in a shortcut as a named argument. */
function withNames({ name, inOrder, named }: Written): Written {
  const all = new Map(named)
  const rest = inOrder.filter(({ value, path }) => {
    const [, key, text] = /^([A-Za-z]+)=(.+)$/s.exec(String(value)) ?? []
    if (key !== undefined) all.set(key, { value: text, path })
    return key === undefined
  })
  return { name, inOrder: rest, named: all }
}

/** Assigns the given values to the arguments of a part, and reports unknown names. */
function givenTo<Site, Made>(
  document: ConfigDocument,
  path: Path,
  { name: of, inOrder, named }: Written,
  { args, shortcut, isList, example }: Part<Site, Made>,
): Map<string, Given> {
  const given = new Map<string, Given>()
  const names = new Map(Object.keys(args).map((name) => [normalizeName(name), name]))
  for (const [key, value] of named) {
    // Spring accepts a list under any name; `pattern` is the common one.
    const name =
      names.get(normalizeName(key)) ??
      names.get(withoutPrefix(key, of)) ??
      (isList && key === 'pattern' ? 'patterns' : undefined)
    if (name === undefined) {
      const known = Object.keys(args)
      const instead =
        didYouMean(key, known) ?? (known.length === 0 ? `${of} has no arguments` : choiceOf(known))
      document.addError(value.path, `is not an argument of ${of}; ${instead}`, 'key')
    } else if (given.has(name)) document.addError(value.path, 'is duplicated; keep one', 'key')
    else given.set(name, value)
  }
  const [first] = inOrder
  if (first === undefined) return given
  if (isList) {
    given.set(shortcut[0]!, { value: inOrder.map(({ value }) => value), path: first.path })
    return given
  }
  if (inOrder.length > shortcut.length) {
    const most =
      shortcut.length === 0
        ? 'no values after its name'
        : `at most ${shortcut.length === 1 ? '1 value' : `${shortcut.length} values`}`
    const why =
      shortcut.length === 0 ? `write ${example}` : 'write a value that contains a comma with name and args'
    document.addError(path, `${of} takes ${most}, got ${inOrder.length}; ${why}`)
  }
  shortcut.forEach((name, i) => {
    if (inOrder[i] !== undefined) given.set(name, inOrder[i])
  })
  return given
}

/** `key-resolver` and `keyResolver` are one name, as they are in Spring. */
function normalizeName(name: string): string {
  return name.replaceAll('-', '').toLowerCase()
}

/** Spring names some arguments with the part as prefix, such as `weight.group` of Weight. */
function withoutPrefix(key: string, part: string): string {
  const prefix = `${part.toLowerCase()}.`
  return normalizeName(key.startsWith(prefix) ? key.slice(prefix.length) : key)
}

function attempt(action: () => void, onError: (problem: string, field: string | undefined) => void): void {
  try {
    action()
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    onError(errorMessageWithoutField(error), error.field)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
