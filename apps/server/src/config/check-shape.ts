import { Ajv, type ErrorObject } from 'ajv'
import { type Path, quote } from '../config-file/config-error.js'
import type { ConfigDocument } from '../config-file/document.js'
import type { JsonSchema } from '../config-file/json-schema.js'
import { choiceOf, didYouMean } from '../config-file/suggestions.js'
import { valueSchema } from './schema/file-schema.js'
import { TOKEN_CHARACTERS, TOKEN_TOO_SHORT } from './schema/token-format.js'

const validate = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true }).compile(valueSchema)

/** Reports everything that the schema does not allow, and what to write instead. */
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
      document.addError([...path, Math.max(i, j)], 'is in the list twice; keep one')
    } else if (error.keyword !== 'if') {
      // 'if' only repeats that another error depends on a condition.
      document.addError(path, problem(document, path, error))
    }
  }
}

function problem(document: ConfigDocument, path: Path, error: ErrorObject): string {
  const schema = error.parentSchema as JsonSchema
  const value = error.data
  const got = shown(document, path, value, schema)
  switch (error.keyword) {
    case 'type':
      return path.length === 0
        ? `the file ${wrongKind(value, schema, undefined)}; write for example port: 8080`
        : wrongKind(value, schema, document.variableAt(path))
    case 'enum':
      return notOneOf(path, value, schema, got)
    case 'minimum':
    case 'maximum': {
      const { minimum, maximum } = schema
      const range = maximum === undefined ? `${minimum} up` : `${minimum} to ${maximum.toLocaleString('en')}`
      return `must be from ${range}${got === '' ? '' : `, got ${got}`}`
    }
    case 'minLength':
      return schema.writeOnly && value !== '' ? TOKEN_TOO_SHORT : 'must not be empty'
    case 'minItems':
      return 'must not be an empty list; leave it out instead'
    case 'maxLength':
      return `must have at most ${schema.maxLength} characters`
    case 'pattern':
      return notWritten(schema, got)
    default:
      return error.message ?? 'is not valid'
  }
}

/** Options that had another name in an earlier version. */
const RENAMED: ReadonlyMap<string, string> = new Map([['rememberRefusals', 'denialCache']])

function unknownKey(name: string, parent: JsonSchema): string {
  if (name === '<<') return 'merge keys are not supported; write the values out'
  const known = Object.keys(parent.properties ?? {})
  const renamed = RENAMED.get(name)
  if (renamed !== undefined && known.includes(renamed)) return `is now ${renamed}; rename it`
  return `is not an option here; ${didYouMean(name, known) ?? choiceOf(known)}`
}

function wrongKind(value: unknown, schema: JsonSchema, variable: string | undefined): string {
  const kinds = [schema.type ?? []].flat()
  const due = kinds.map((kind) => KINDS[kind] ?? kind).join(' or ')
  if (variable !== undefined) return `must be ${due}, but the value of ${variable} is not`
  if (value === null) return `is empty; write ${due}, or remove it`
  const isNumber = typeof value === 'string' && /^[\d.]+$/.test(value)
  if (isNumber && (kinds.includes('integer') || kinds.includes('number'))) {
    return `must be ${due}; write it without quotes`
  }
  if ((typeof value === 'number' || typeof value === 'boolean') && kinds.includes('string')) {
    return `must be ${due}; write it in quotes`
  }
  if (typeof value === 'number') return `must be ${due}, got ${value}`
  return `must be ${due}, not ${KINDS[kindOf(value)]}${hint(schema)}`
}

function notOneOf(path: Path, value: unknown, schema: JsonSchema, got: string): string {
  const choices = (schema.enum ?? []).map(String)
  if (path[0] === 'policies' && choices.length === 1) {
    return `must be ${choices[0]}: ${path[1]} is built in, and only its numbers can change. Give the policy another name`
  }
  if (typeof value !== 'string' || got === '')
    return `must be one of ${choices.join(', ')}${got && `, got ${got}`}`
  const instead = didYouMean(value, choices) ?? choiceOf(choices)
  return `${got} is not ${schema.title ?? 'a valid value'}; ${instead}`
}

function notWritten(schema: JsonSchema, got: string): string {
  const problem = got === '' ? 'is not valid' : `${got} is not valid`
  return schema.writeOnly ? TOKEN_CHARACTERS : `${problem}${hint(schema)}`
}

function hint({ examples, default: fallback }: JsonSchema): string {
  const one = examples?.[0] ?? fallback
  return one === undefined || typeof one === 'object' ? '' : `; write for example ${one}`
}

function example(name: string, schema: JsonSchema | undefined): string {
  const one = schema?.examples?.[0]
  return one === undefined ? 'add it' : `write for example ${name}: ${one}`
}

/** The value for a message, as it was written; empty for a secret. */
function shown(document: ConfigDocument, path: Path, value: unknown, schema: JsonSchema): string {
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
