import { show } from '@tidegate/core'
import { Ajv, type ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest, type HttpError } from '../../http/http-error.js'
import { type QuerySchema, queryReader } from './query.js'

/**
 * Compiles the schemas of the routes. Queries are parsed, and bodies validated, by their schema. Values are never coerced.
 */
export function validatorCompiler(): FastifySchemaCompiler<unknown> {
  const ajv = new Ajv({ allowUnionTypes: true, verbose: true })
  return ({ schema, httpPart }) => {
    if (httpPart === 'querystring') {
      const read = queryReader(schema as QuerySchema)
      return (raw: string) => {
        const query = read(raw)
        return query instanceof Error ? { error: query } : { value: query }
      }
    }
    const validate = ajv.compile(schema as object)
    return (value: unknown) => {
      // A missing body counts as an empty object.
      if (validate(value ?? {})) return true
      return { error: errorOf(validate.errors![0]!) }
    }
  }
}

/** Converts an error of Ajv, with the field as the client wrote it: `checks[3].permits`. */
function errorOf(error: ErrorObject): HttpError {
  const { instancePath, keyword, params, parentSchema, data } = error
  const at = fieldOf(instancePath)
  if (keyword === 'additionalProperties') {
    const fieldNames = Object.keys(parentSchema?.properties ?? {}).join(', ')
    const name = String(params.additionalProperty)
    const field = joinPath(at, name.slice(0, 64))
    return badRequest(field, `Unknown field ${show(name)}${at && ` in ${at}`}; the fields are ${fieldNames}.`)
  }
  if (keyword === 'required') {
    const field = joinPath(at, String(params.missingProperty))
    return badRequest(
      field,
      `${field} is missing${exampleOf(parentSchema?.properties?.[params.missingProperty])}.`,
    )
  }
  if (keyword === 'enum') {
    const choices = (params.allowedValues as unknown[]).join(', ')
    return badRequest(at, `${at} must be one of ${choices}, got ${show(data)}.`)
  }
  return badRequest(at || undefined, `${at || 'The body'} ${problemOf(error)}.`)
}

/** The keywords that messages describe. */
interface ValueSchema {
  readonly type?: string | readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
}

/** Describes the accepted values, and the value that was sent. */
function problemOf({ keyword, parentSchema, message, data }: ErrorObject): string {
  const schema = (parentSchema ?? {}) as ValueSchema
  const { minItems, maxItems, minLength, maxLength } = schema
  switch (keyword) {
    case 'type':
    case 'minimum':
    case 'maximum':
      return `must be ${kindOf(schema)}, got ${show(data)}`
    case 'minItems':
    case 'maxItems':
      return `must have ${minItems} to ${maxItems?.toLocaleString('en')} entries, got ${(data as unknown[]).length}`
    case 'minLength':
    case 'maxLength':
      return `must have ${minLength} to ${maxLength} characters, got ${String(data).length}`
    case 'pattern':
      return `is not valid, got ${show(data)}${exampleOf(schema)}`
    default:
      return `${message}, got ${show(data)}`
  }
}

/** Such as `a whole number from 1 to 200`. */
function kindOf({ type = [], minimum, maximum }: ValueSchema): string {
  const kinds = [type].flat().map((name) => KINDS[name] ?? name)
  if (minimum === undefined) return kinds.join(' or ')
  const isOpen = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER
  const range = isOpen ? `of at least ${minimum}` : `from ${minimum} to ${maximum.toLocaleString('en')}`
  return `${kinds.join(' or ')} ${range}`
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

function exampleOf(schema: ValueSchema | undefined): string {
  const example = schema?.examples?.[0]
  return example === undefined ? '' : `; send for example ${JSON.stringify(example)}`
}

function fieldOf(instancePath: string): string {
  const steps = instancePath.split('/').slice(1)
  return steps.reduce((field, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return /^\d+$/.test(name) ? `${field}[${name}]` : joinPath(field, name.slice(0, 64))
  }, '')
}

function joinPath(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`
}
