import { Ajv, type ErrorObject } from 'ajv'
import { type Path, quote } from '../config-file/config-error.js'
import type { ConfigDocument } from '../config-file/document.js'
import type { JsonSchema } from '../config-file/json-schema.js'
import { choiceOf, didYouMean } from '../config-file/suggestions.js'
import { valueSchema } from './schema/file-schema.js'
import { TOKEN_CHARACTERS, TOKEN_TOO_SHORT } from './schema/token-format.js'

const validate = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true }).compile(valueSchema)

/** Reports every value that the schema does not allow, and what to write instead. */
export function checkShape(document: ConfigDocument): void {
  if (validate(document.value)) return
  for (const error of validate.errors ?? []) {
    const path = pathOf(document.value, error.instancePath)
    const { additionalProperty, missingProperty, i, j } = error.params
    if (error.keyword === 'additionalProperties') {
      const message = unknownKey(additionalProperty, error.parentSchema as JsonSchema)
      document.addError([...path, additionalProperty], message, 'key')
    } else if (error.keyword === 'required') {
      const missing = [...path, missingProperty]
      document.addError(missing, `is missing; ${example(missingProperty, document.schemaAt(missing))}`)
    } else if (error.keyword === 'uniqueItems') {
      document.addError([...path, Math.max(i, j)], 'duplicate entry; keep one')
    } else if (error.keyword !== 'if') {
      // An 'if' error only repeats that the condition of another error holds.
      document.addError(path, problem(document, path, error))
    }
  }
}

function problem(document: ConfigDocument, path: Path, error: ErrorObject): string {
  const schema = error.parentSchema as JsonSchema
  const value = error.data
  const got = formatValue(document, path, value, schema)
  switch (error.keyword) {
    case 'type':
      return path.length === 0
        ? `the file ${wrongKind(value, schema, '', undefined)}; write for example port: 8080`
        : wrongKind(value, schema, got, document.variableAt(path))
    case 'enum':
      return notOneOf(path, value, schema, got)
    case 'minimum':
    case 'maximum': {
      return outOfRange(schema, got)
    }
    case 'minLength':
      return schema.writeOnly && value !== '' ? TOKEN_TOO_SHORT : 'must not be empty'
    case 'minItems':
      return 'must not be an empty list; add an entry, or remove the list'
    case 'maxLength':
      return `must have at most ${schema.maxLength} characters, got ${String(value).length}`
    case 'pattern':
      return invalidFormat(schema, got)
    default:
      return error.message ?? 'is not valid'
  }
}

/** Options that had another name in an earlier version. */
const RENAMED: ReadonlyMap<string, string> = new Map([['rememberRefusals', 'denialCache']])

function unknownKey(name: string, parent: JsonSchema): string {
  if (name === '<<') return 'merge keys are not supported; write the values out'
  const options = Object.keys(parent.properties ?? {})
  const newName = RENAMED.get(name)
  if (newName !== undefined && options.includes(newName)) return `is now ${newName}; rename it`
  return `unknown option; ${didYouMean(name, options) ?? choiceOf(options)}`
}

function wrongKind(value: unknown, schema: JsonSchema, got: string, variable: string | undefined): string {
  const kinds = [schema.type ?? []].flat()
  const expected = enumerate(
    kinds.flatMap((kind) => (kind === 'boolean' ? ['true', 'false'] : (KINDS[kind] ?? kind))),
  )
  if (variable !== undefined) return `must be ${expected}, but the value of ${variable} is not`
  if (value === null) return `is empty; write ${expected}, or remove the option`
  const isNumber = typeof value === 'string' && /^[\d.]+$/.test(value)
  if (isNumber && (kinds.includes('integer') || kinds.includes('number'))) {
    return `must be ${expected}${andGot(got)}; write it without quotes`
  }
  if ((typeof value === 'number' || typeof value === 'boolean') && kinds.includes('string')) {
    return `must be ${expected}${andGot(got)}; write it in quotes`
  }
  const isOneEntry = kinds.includes('array') && [schema.items?.type].flat().includes(kindOf(value))
  if (isOneEntry && got !== '') return `must be ${expected}, got ${got}; write [${got}]`
  if (got !== '') return `must be ${expected}, got ${got}${hint(schema)}`
  return `must be ${expected}, not ${KINDS[kindOf(value)]}${hint(schema)}`
}

function outOfRange(schema: JsonSchema, got: string): string {
  const { title, type, minimum, maximum } = schema
  if (title !== undefined) return `${got} is not ${title}${hint(schema)}`
  const kind = [type].flat().includes('integer') ? 'a whole number' : 'a number'
  const least = minimum?.toLocaleString('en')
  const range =
    maximum === undefined ? `of at least ${least}` : `from ${least} to ${maximum.toLocaleString('en')}`
  return `must be ${kind} ${range}${andGot(got)}`
}

function andGot(got: string): string {
  return got === '' ? '' : `, got ${got}`
}

/** `a`, `a or b`, `a, b or c` */
function enumerate(items: readonly string[]): string {
  const last = items.at(-1) ?? ''
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} or ${last}`
}

function notOneOf(path: Path, value: unknown, schema: JsonSchema, got: string): string {
  const choices = (schema.enum ?? []).map(String)
  if (path[0] === 'policies' && choices.length === 1) {
    return `must be ${choices[0]}: ${path[1]} is a built-in policy, and only its numbers can change. Give your policy another name`
  }
  if (typeof value !== 'string' || got === '')
    return `must be one of ${choices.join(', ')}${got && `, got ${got}`}`
  const advice = didYouMean(value, choices) ?? choiceOf(choices)
  return `${got} is not ${schema.title ?? 'a valid value'}; ${advice}`
}

function invalidFormat(schema: JsonSchema, got: string): string {
  if (schema.writeOnly) return TOKEN_CHARACTERS
  const problem = `is not ${schema.title ?? 'valid'}${hint(schema)}`
  return got === '' ? problem : `${got} ${problem}`
}

function hint({ examples, default: fallback }: JsonSchema): string {
  const value = examples?.[0] ?? fallback
  return value === undefined || typeof value === 'object' ? '' : `; write for example ${value}`
}

function example(name: string, schema: JsonSchema | undefined): string {
  const value = schema?.examples?.[0]
  return value === undefined ? 'add it' : `write for example ${name}: ${value}`
}

/** The value for a message, as it was written; empty for a secret, a list and an object. */
function formatValue(document: ConfigDocument, path: Path, value: unknown, schema: JsonSchema): string {
  if (schema.writeOnly || typeof value === 'object') return ''
  const written = document.variableAt(path) ?? value
  return typeof written === 'string' ? quote(written) : String(written)
}

const KINDS: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'keys and values',
  array: 'a list',
  null: 'nothing',
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Converts a JSON pointer such as `/rules/0/key`. The value tells indexes from keys. */
function pathOf(value: unknown, pointer: string): Path {
  const path: (string | number)[] = []
  let inside = value
  for (const escaped of pointer.split('/').slice(1)) {
    const step = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(inside) ? Number(step) : step)
    inside = (inside as Record<string, unknown>)[step]
  }
  return path
}
