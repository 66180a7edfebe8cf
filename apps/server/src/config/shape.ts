import { Ajv, type ErrorObject } from 'ajv'
import type { ConfigDocument } from './document.js'
import { type JsonSchema, schemaOf } from './json-schema.js'
import { type Path, quoted } from './mistakes.js'
import { didYouMean } from './nearest.js'
import { valueSchema } from './schema.js'
import { TOKEN_CHARACTERS, TOKEN_TOO_SHORT } from './token.js'

const isRight = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true }).compile(valueSchema)

/** Notes everything that the schema does not allow, each with what to write instead. */
export function checkShape(document: ConfigDocument): void {
  if (isRight(document.value)) return
  for (const error of isRight.errors ?? []) {
    const path = pathOf(document.value, error.instancePath)
    const { additionalProperty, missingProperty, i, j } = error.params
    if (error.keyword === 'additionalProperties') {
      const message = unknownKey(additionalProperty, error.parentSchema as JsonSchema)
      document.wrong([...path, additionalProperty], message, 'key')
    } else if (error.keyword === 'required') {
      const missing = [...path, missingProperty]
      document.wrong(missing, `is missing; ${example(missingProperty, schemaAt(missing))}`)
    } else if (error.keyword === 'uniqueItems') {
      document.wrong([...path, Math.max(i, j)], 'is in the list twice; keep one')
    } else if (error.keyword !== 'if') {
      // 'if' only says that one of the others is so because of a condition.
      document.wrong(path, problem(document, path, error))
    }
  }
}

function problem(document: ConfigDocument, path: Path, error: ErrorObject): string {
  const schema = error.parentSchema as JsonSchema
  const value = error.data
  const got = shown(document, path, value, schema)
  switch (error.keyword) {
    case 'type':
      return wrongKind(value, schema, document.variableAt(path))
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
      return error.message ?? 'is not right'
  }
}

function unknownKey(name: string, parent: JsonSchema): string {
  if (name === '<<') return 'is not known here: nothing is merged; write the values out'
  const known = Object.keys(parent.properties ?? {})
  return `is not known here; ${didYouMean(name, known) ?? `there is only ${known.join(', ')}`}`
}

function wrongKind(value: unknown, schema: JsonSchema, variable: string | undefined): string {
  const kinds = [schema.type ?? []].flat()
  const due = kinds.map((kind) => KINDS[kind] ?? kind).join(' or ')
  if (variable !== undefined) return `must be ${due}, and what ${variable} stands for is not`
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
  const instead = didYouMean(value, choices) ?? `write one of ${choices.join(', ')}`
  return `${got} is not ${schema.title ?? 'known here'}; ${instead}`
}

function notWritten(schema: JsonSchema, got: string): string {
  const is = got === '' ? 'is not written right' : `${got} is not written right`
  return schema.writeOnly ? TOKEN_CHARACTERS : `${is}${hint(schema)}`
}

function hint({ examples, default: fallback }: JsonSchema): string {
  const one = examples?.[0] ?? fallback
  return one === undefined || typeof one === 'object' ? '' : `; write for example ${one}`
}

function example(name: string, schema: JsonSchema | undefined): string {
  const one = schema?.examples?.[0]
  return one === undefined ? 'add it' : `write for example ${name}: ${one}`
}

/** The value as a piece of a message: as it was written, and a secret not at all. */
function shown(document: ConfigDocument, path: Path, value: unknown, schema: JsonSchema): string {
  if (schema.writeOnly || typeof value === 'object') return ''
  const written = document.variableAt(path) ?? value
  return typeof written === 'string' ? quoted(written) : String(written)
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

function schemaAt(path: Path): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(schemaOf, valueSchema)
}

/** `/rules/0/key` as a path; which steps are indexes, the value itself says. */
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
