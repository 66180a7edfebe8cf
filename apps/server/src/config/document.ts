import { Composer, LineCounter, Parser } from 'yaml'
import { createFindings, type Findings, placeName } from './findings.js'
import type { JsonSchema } from './json-schema.js'
import type { Path } from './mistakes.js'
import { createReplacements } from './replacements.js'
import { firstTooDeep, syntaxProblems } from './syntax.js'
import { valuesOf } from './values.js'
import { asDue, type Environment, replaceVariables } from './variables.js'

/** A file as plain data, with what is wrong in it so far. */
export interface ConfigDocument extends Findings {
  /** Undefined if it is no YAML. */
  readonly value: unknown
  /** What stands at a path, or undefined. */
  at(path: Path): unknown
  /** How a value that came from the environment was written, such as `${PORT}`; undefined for every other. */
  variableAt(path: Path): string | undefined
  /** The line in which what stands at a path begins, with its key; from 1. */
  lineOf(path: Path): number
}

const MAX_CHARACTERS = 1_048_576
/** Nothing in a file needs more than eight. The composer calls itself for each, and Node dies of too many. */
const MAX_DEPTH = 64

/** Reads YAML. Variables are replaced in values, when what is a value is known. */
export function readDocument(source: string, schema: JsonSchema, env: Environment): ConfigDocument {
  const text = source.replace(/^\ufeff/, '')
  const counter = new LineCounter()
  const offsets = new Map<string, { key: number; value: number }>()
  const replacements = createReplacements()
  const findings = createFindings((path, at) => {
    if (typeof at === 'number') return placeAt(at)
    for (let length = path.length; length >= 0; length--) {
      const found = offsets.get(placeName(path.slice(0, length)))
      if (found === undefined) continue
      // What is not there is missed at the key of what should have it.
      return placeAt(at === 'key' || length < path.length ? found.key : found.value)
    }
    return placeAt(0)
  })
  const value = parse()
  return {
    ...findings,
    wrong: (path, message, at) => findings.wrong(path, replacements.hide(path, message), at),
    value,
    at: (path) =>
      path.reduce((inside, step) => (inside as Record<string | number, unknown> | null)?.[step], value),
    variableAt: replacements.writtenAt,
    lineOf: (path) => placeAt(offsets.get(placeName(path))?.key ?? 0).line,
  }

  function placeAt(offset: number) {
    const { line, col } = counter.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  function parse(): unknown {
    if (text.length > MAX_CHARACTERS) {
      findings.wrong([], `the file is larger than ${MAX_CHARACTERS.toLocaleString('en')} characters`)
      return undefined
    }
    const tokens = [...new Parser(counter.addNewLine).parse(text)]
    const tooDeep = firstTooDeep(tokens, MAX_DEPTH)
    if (tooDeep !== undefined) {
      findings.wrong([], `more than ${MAX_DEPTH} levels inside each other`, tooDeep)
      return undefined
    }
    // Repeated keys are found later: the composer compares each key with all before it.
    const composer = new Composer({ uniqueKeys: false, stringKeys: true })
    const documents = [...composer.compose(tokens, true, text.length)]
    const problems = syntaxProblems(text, documents, (offset) => placeAt(offset).line)
    for (const { offset, message } of problems) findings.wrong([], message, offset)
    const [document] = documents
    if (problems.length > 0 || document === undefined) return undefined
    const values = valuesOf(document, { schema, place, wrong: findings.wrong, text: replaced })
    return values === null ? Object.create(null) : values
  }

  function place(path: Path, key: number, value: number): void {
    const name = placeName(path)
    if (!offsets.has(name)) offsets.set(name, { key, value })
  }

  function replaced(written: string, schema: JsonSchema | undefined, path: Path): unknown {
    const answer = replaceVariables(written, env)
    if ('problem' in answer) {
      findings.wrong(path, answer.problem)
      return undefined
    }
    if (answer.values.length === 0) return answer.text
    const due = asDue(answer.text, schema)
    // A number gives nothing away.
    replacements.note(path, written, answer.text, typeof due === 'string' ? answer.values : [])
    return due
  }
}
