import { Composer, LineCounter, Parser, type Scalar } from 'yaml'
import type { ConfigError, Path } from './config-error.js'
import type { Dialect, Translation, UnusedOption } from './dialect.js'
import { createErrorCollector, type ErrorAnchor, type ErrorCollector, placeName } from './error-collector.js'
import { type JsonSchema, schemaOf } from './json-schema.js'
import { createReplacements } from './replacements.js'
import { firstTooDeep, secondDocument, syntaxProblems } from './syntax-errors.js'
import { valuesOf } from './values.js'
import { type Environment, replaceVariables, toSchemaType } from './variables.js'

/** The values of a configuration file, and its errors so far. */
export interface ConfigDocument extends ErrorCollector {
  /** Undefined if the text is not valid YAML. */
  readonly value: unknown
  /** The value at a path, or undefined. */
  at(path: Path): unknown
  /** The text of a value before its variables were replaced, such as `${PORT}`; undefined for a value without variables. */
  variableAt(path: Path): string | undefined
  /** The schema of the value at a path; undefined for a path that the schema does not have. */
  schemaAt(path: Path): JsonSchema | undefined
  /** The line of the key at a path; from 1. */
  lineOf(path: Path): number
  /** Adds a warning: the file is valid, but one of its features is not supported. */
  addWarning(path: Path, message: string, at?: ErrorAnchor): void
  /** In the order of the file. */
  warnings(): ConfigError[]
  /** Options of a file in another dialect that are not used. */
  readonly unused: readonly UnusedOption[]
  /** The active profiles; undefined if the file is not in another dialect. */
  readonly profiles: readonly string[] | undefined
}

const MAX_CHARACTERS = 1_048_576
/** Valid files need eight levels. The composer is recursive, so the depth is bounded. */
const MAX_DEPTH = 64

/**
 * Parses YAML, and replaces variables in its values. Only files of the dialect may have several documents. `scalar`, if
 * set, reads every scalar instead.
 */
export function readDocument(
  source: string,
  schema: JsonSchema,
  env: Environment,
  dialect?: Dialect,
  scalar?: (node: Scalar, path: Path) => unknown,
): ConfigDocument {
  const text = source.replace(/^\ufeff/, '')
  const counter = new LineCounter()
  const offsets = new Map<string, { key: number; value: number }>()
  const replacements = createReplacements()
  let translation: Translation | undefined
  const placeOf = (path: Path, at: ErrorAnchor) => {
    if (at === 'none') return {}
    if (typeof at === 'number') return placeAt(at)
    for (let length = path.length; length >= 0; length--) {
      const offset = offsets.get(placeName(path.slice(0, length)))
      if (offset === undefined) continue
      // A missing value is reported at the key of its parent.
      return placeAt(at === 'key' || length < path.length ? offset.key : offset.value)
    }
    return placeAt(0)
  }
  const collector = createErrorCollector(placeOf)
  const warnings = createErrorCollector(placeOf)
  const value = parse()
  return {
    ...collector,
    addError: (path, message, at) => collector.addError(path, replacements.hide(path, message), at),
    value,
    at: (path) =>
      path.reduce((inside, step) => (inside as Record<string | number, unknown> | null)?.[step], value),
    variableAt: replacements.writtenAt,
    schemaAt: (path) => path.reduce<JsonSchema | undefined>(schemaOf, schema),
    lineOf: (path) => placeAt(offsets.get(placeName(path))?.key ?? 0).line,
    addWarning: (path, message, at) => warnings.addError(path, replacements.hide(path, message), at),
    warnings: warnings.errors,
    unused: translation?.unused ?? [],
    profiles: translation?.profiles,
  }

  function placeAt(offset: number) {
    const { line, col } = counter.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  function parse(): unknown {
    if (text.length > MAX_CHARACTERS) {
      const maximum = MAX_CHARACTERS.toLocaleString('en')
      const length = text.length.toLocaleString('en')
      collector.addError([], `the file must have at most ${maximum} characters, got ${length}`)
      return undefined
    }
    const tokens = [...new Parser(counter.addNewLine).parse(text)]
    const tooDeep = firstTooDeep(tokens, MAX_DEPTH)
    if (tooDeep !== undefined) {
      collector.addError([], `nested more than ${MAX_DEPTH} levels deep`, tooDeep)
      return undefined
    }
    // Repeated keys are found later: the composer compares each key with all before it.
    const composer = new Composer({ uniqueKeys: false, stringKeys: true })
    const documents = [...composer.compose(tokens, true, text.length)]
    const problems = syntaxProblems(text, documents, (offset) => placeAt(offset).line)
    for (const { offset, message } of problems) collector.addError([], message, offset)
    const [document, second] = documents
    if (problems.length > 0 || document === undefined) return undefined
    translation = dialect?.(documents, schema, (message, offset) => collector.addError([], message, offset))
    if (translation === undefined && second !== undefined) {
      const { offset, message } = secondDocument(second)
      collector.addError([], message, offset)
      return undefined
    }
    const values = valuesOf(translation?.contents ?? document.contents, {
      schema,
      place,
      addError: collector.addError,
      text: replaceIn,
      scalar,
    })
    return values === null ? Object.create(null) : values
  }

  function place(path: Path, key: number, value: number): void {
    const name = placeName(path)
    if (!offsets.has(name)) offsets.set(name, { key, value })
  }

  function replaceIn(written: string, schema: JsonSchema | undefined, path: Path): unknown {
    const isForeign = translation?.isForeign(path) === true
    const replaced = isForeign ? translation!.replace(written) : replaceVariables(written, env)
    if ('problem' in replaced) {
      collector.addError(path, replaced.problem)
      return undefined
    }
    const { text, values } = replaced
    if (values.length === 0) return isForeign ? toSchemaType(text, schema) : text
    const value = toSchemaType(text, schema)
    // Numbers are not secret.
    replacements.add(path, written, text, typeof value === 'string' ? values : [])
    return value
  }
}
