import { show } from '@tidegate/core'
import { Ajv, type ErrorObject } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import { type ApiError, badRequest } from './api-error.js'
import { type QuerySchema, queryReader } from './query.js'

/**
 * How the schemas of the routes are held: a query is read by its schema, a body is checked by it. Nothing is turned into
 * what it should have been.
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
      // A body that is left out is one without any field.
      if (validate(value ?? {})) return true
      return { error: errorOf(validate.errors![0]!) }
    }
  }
}

/** The first thing that is wrong, as whoever sent it knows it: `checks[3].permits`. */
function errorOf({ instancePath, keyword, params, message, parentSchema, data }: ErrorObject): ApiError {
  const at = fieldOf(instancePath)
  if (keyword === 'additionalProperties') {
    const known = Object.keys(parentSchema?.properties ?? {}).join(', ')
    const name = String(params.additionalProperty)
    const field = joined(at, name.slice(0, 64))
    return badRequest(field, `There is no field ${show(name)}${at && ` in ${at}`}; it takes ${known}.`)
  }
  if (keyword === 'required') {
    const field = joined(at, String(params.missingProperty))
    return badRequest(field, `${field} is missing.`)
  }
  if (keyword === 'enum') {
    const choices = (params.allowedValues as unknown[]).join(', ')
    return badRequest(at, `${at} must be one of ${choices}, got ${show(data)}.`)
  }
  return badRequest(at || undefined, `${at || 'The body'} ${message}, got ${show(data)}.`)
}

function fieldOf(instancePath: string): string {
  const steps = instancePath.split('/').slice(1)
  return steps.reduce((field, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return /^\d+$/.test(name) ? `${field}[${name}]` : joined(field, name.slice(0, 64))
  }, '')
}

function joined(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`
}
