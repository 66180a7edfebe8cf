import { TidegateError } from '@tidegate/core'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { errorMessageWithoutField } from '../../config-file/factory.js'
import { choiceOf, didYouMean } from '../../config-file/suggestions.js'
import { isFields } from '../../config-file/value-kinds.js'
import type { Part } from '../spring/part.js'
import { parseShortcut } from '../spring/shortcut.js'

/** All predicates, or all filters. */
export interface PartCatalog<Site, Made> {
  readonly kind: 'predicate' | 'filter'
  readonly parts: Readonly<Record<string, Part<Site, Made>>>
  /** Names that only Spring supports, with advice. */
  readonly unsupported: Readonly<Record<string, string>>
  /** Names that only Spring supports, and that are left out with a warning. Default: none. */
  readonly withoutEffect?: Readonly<Record<string, string>>
  /** Names in `gateway.ignoreFilters`. Default: none. */
  readonly ignored?: ReadonlySet<string>
}

/** The value of an argument, and its path in the file. */
interface ArgumentValue {
  readonly value: unknown
  readonly path: Path
}

/** A predicate or filter as written in the file. */
interface WrittenPart {
  readonly name: string
  /** Values by position: of a shortcut, or named `_genkey_0`, `_genkey_1`. */
  readonly inOrder: readonly ArgumentValue[]
  readonly named: ReadonlyMap<string, ArgumentValue>
}

/**
 * Reads the predicate or filter at a path, in either spelling of Spring: `Path=/api/**`, or `name` with `args`.
 * Reports all errors, and returns undefined if there are any.
 */
export function readPart<Site, Made>(
  document: ConfigDocument,
  path: Path,
  catalog: PartCatalog<Site, Made>,
  site: Site,
): Made | undefined {
  const written = writtenAt(document, path, catalog.kind)
  if (written === undefined) return undefined
  if (isIgnored(document, path, written.name, catalog)) return undefined
  const part = partNamed(document, path, written.name, catalog)
  if (part === undefined) return undefined
  const values = assignArguments(document, path, part.hasNamedShortcut ? withNames(written) : written, part)
  const areNamesValid = document.isValid(path)
  const args: Record<string, unknown> = {}
  /** Errors of a shortcut are reported together, at the position of the whole text. */
  const shortcutProblems: string[] = []
  const report = (name: string, problem: string) => {
    const argument = values.get(name)
    if (argument !== undefined && argument.path.length > path.length)
      document.addError(argument.path, problem)
    else shortcutProblems.push(`${name} ${problem}`)
  }
  let isComplete = true
  for (const [name, { read, fallback, isRequired }] of Object.entries(part.args)) {
    const argument = values.get(name)
    args[name] = fallback
    if (argument !== undefined) {
      attempt(
        () => {
          args[name] = read(argument.value)
        },
        (problem) => report(name, problem),
      )
    } else if (isRequired && areNamesValid) report(name, `is missing; write for example ${part.example}`)
    if (isRequired && args[name] === undefined) isComplete = false
  }
  let result: Made | undefined
  // Built with defaults in place of invalid arguments, so that the others are checked too.
  if (isComplete) {
    attempt(
      () => {
        result = part.make(args, site)
      },
      (problem, field) => {
        if (field === undefined || !Object.hasOwn(part.args, field))
          document.addError(path, `${written.name}: ${problem}`)
        else if (shortcutProblems.length === 0) report(field, problem)
      },
    )
  }
  if (shortcutProblems.length > 0)
    document.addError(path, `${written.name}: ${shortcutProblems.join('; and ')}`)
  return document.isValid(path) ? result : undefined
}

function writtenAt(document: ConfigDocument, path: Path, kind: string): WrittenPart | undefined {
  const value = document.at(path)
  if (typeof value === 'string') {
    const { name, values } = parseShortcut(value)
    return { name, inOrder: values.map((value) => ({ value, path })), named: new Map() }
  }
  if (!isFields(value)) return undefined
  const { name, args } = value
  if (typeof name !== 'string') return undefined
  const flat = new Map<string, ArgumentValue>()
  if (Array.isArray(args)) {
    document.addError(
      [...path, 'args'],
      `must be keys and values, not a list; write for example args: ${exampleArgs(kind)}`,
    )
  } else if (isFields(args)) flatten(args, [...path, 'args'], '', flat)
  const inOrder: ArgumentValue[] = []
  const named = new Map<string, ArgumentValue>()
  for (const [key, argument] of flat) {
    const place = /^_genkey_(\d{1,3})$/.exec(key)?.[1]
    if (place === undefined) named.set(key, argument)
    else inOrder[Number(place)] = argument
  }
  return { name, inOrder: inOrder.filter((argument) => argument !== undefined), named }
}

/** Flattens `{ redis-rate-limiter: { replenishRate: 1 } }` to `redis-rate-limiter.replenishRate`. */
function flatten(
  args: Record<string, unknown>,
  path: Path,
  before: string,
  into: Map<string, ArgumentValue>,
): void {
  for (const [key, value] of Object.entries(args)) {
    if (isFields(value)) flatten(value, [...path, key], `${before}${key}.`, into)
    else into.set(before + key, { value, path: [...path, key] })
  }
}

/** Whether a part is ignored. If so, adds a warning. */
function isIgnored<Site, Made>(
  document: ConfigDocument,
  path: Path,
  name: string,
  { kind, withoutEffect = {}, ignored }: PartCatalog<Site, Made>,
): boolean {
  const isListed = ignored?.has(name) === true
  if (!isListed && !Object.hasOwn(withoutEffect, name)) return false
  const reason = isListed ? 'it is listed in gateway.ignoreFilters' : withoutEffect[name]
  document.addWarning(path, `the ${kind} ${name} is ignored: ${reason}`)
  return true
}

function partNamed<Site, Made>(
  document: ConfigDocument,
  path: Path,
  name: string,
  { kind, parts, unsupported }: PartCatalog<Site, Made>,
): Part<Site, Made> | undefined {
  if (Object.hasOwn(parts, name)) return parts[name]
  const at = isFields(document.at(path)) ? [...path, 'name'] : path
  if (Object.hasOwn(unsupported, name)) {
    document.addError(at, `Spring's ${kind} ${name} is not supported: ${unsupported[name]}`)
    return undefined
  }
  const names = Object.keys(parts)
  if (kind === 'filter' && path[0] === 'spring') {
    const suggestion = didYouMean(
      name,
      names.filter((other) => other[0] === name[0]),
    )
    const isClassName = /^[\w$.-]+$/.test(name)
    const advice = !isClassName
      ? 'write a name, or a name with values such as StripPrefix=1'
      : `if it is a class of your application and the routes are safe without it, write gateway: { ignoreFilters: [${name}] }`
    document.addError(
      at,
      `unknown filter ${quote(name)}; ${suggestion === undefined ? '' : `${suggestion} `}${advice}`,
    )
    return undefined
  }
  const advice = didYouMean(name, names) ?? choiceOf(names)
  document.addError(at, `unknown ${kind} ${quote(name)}; ${advice}`)
  return undefined
}

/** Treats `name=value` in a shortcut as a named argument. */
function withNames({ name, inOrder, named }: WrittenPart): WrittenPart {
  const all = new Map(named)
  const rest = inOrder.filter(({ value, path }) => {
    const [, key, text] = (typeof value === 'string' && /^([A-Za-z]+)=(.+)$/s.exec(value)) || []
    if (key !== undefined) all.set(key, { value: text, path })
    return key === undefined
  })
  return { name, inOrder: rest, named: all }
}

/** Assigns the written values to the arguments of a part, and reports unknown names. */
function assignArguments<Site, Made>(
  document: ConfigDocument,
  path: Path,
  { name: partName, inOrder, named }: WrittenPart,
  { args, shortcut, isList, example }: Part<Site, Made>,
): Map<string, ArgumentValue> {
  const values = new Map<string, ArgumentValue>()
  const names = new Map(Object.keys(args).map((name) => [normalizeName(name), name]))
  for (const [key, value] of named) {
    // Spring accepts a list under any name; `pattern` is the common one.
    const name =
      names.get(normalizeName(key)) ??
      names.get(withoutPrefix(key, partName)) ??
      (isList && key === 'pattern' ? 'patterns' : undefined)
    if (name === undefined) {
      const all = Object.keys(args)
      const advice =
        didYouMean(key, all) ?? (all.length === 0 ? `${partName} has no arguments` : choiceOf(all))
      document.addError(value.path, `unknown argument of ${partName}; ${advice}`, 'key')
    } else if (values.has(name)) document.addError(value.path, 'duplicate argument; keep one', 'key')
    else values.set(name, value)
  }
  const [first] = inOrder
  if (first === undefined) return values
  if (isList) {
    values.set(shortcut[0]!, { value: inOrder.map(({ value }) => value), path: first.path })
    return values
  }
  if (inOrder.length > shortcut.length) {
    const maximum =
      shortcut.length === 0
        ? 'no values after its name'
        : `at most ${shortcut.length === 1 ? '1 value' : `${shortcut.length} values`}`
    const advice =
      shortcut.length === 0 ? `write ${example}` : 'for a value with a comma, write name and args instead'
    document.addError(path, `${partName} takes ${maximum}, got ${inOrder.length}; ${advice}`)
  }
  shortcut.forEach((name, i) => {
    if (inOrder[i] !== undefined) values.set(name, inOrder[i])
  })
  return values
}

/** `key-resolver` and `keyResolver` are the same name, as in Spring. */
function normalizeName(name: string): string {
  return name.replaceAll('-', '').toLowerCase()
}

/** Some arguments in Spring have the name of the part as prefix, such as `weight.group` of Weight. */
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

function exampleArgs(kind: string): string {
  return kind === 'predicate' ? '{ patterns: [/api/**] }' : '{ parts: 1 }'
}
