import { STATUS_CODES } from 'node:http'
import { EXAMPLES } from './examples.js'

type Json = Record<string, unknown>

/** As much of an OpenAPI document as is completed here. */
export interface OpenApiDocument {
  paths?: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, unknown> } & Json
}

interface Operation {
  operationId?: string
  requestBody?: { content: Content }
  responses?: Record<string, { description?: string; content?: Content }>
}

type Content = Record<string, { schema?: unknown; example?: unknown }>

/** Adds examples and response descriptions to the operations, and moves schemas that have a title to `components.schemas`. */
export function completeDocument<T extends object>(generated: T): T {
  const document = structuredClone(generated) as OpenApiDocument
  for (const operation of operationsOf(document)) {
    addExamples(operation)
    describeResponses(operation)
  }
  const schemas: Record<string, unknown> = {}
  document.paths = withReferences(document.paths, schemas) as NonNullable<OpenApiDocument['paths']>
  document.components = { ...document.components, schemas }
  return document as T
}

export function operationsOf({ paths = {} }: OpenApiDocument): Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods))
}

function addExamples({ operationId = '', requestBody, responses = {} }: Operation): void {
  const { request, response } = EXAMPLES[operationId] ?? {}
  const body = requestBody?.content['application/json']
  if (request !== undefined && body !== undefined) body.example = request
  for (const [status, example] of Object.entries(response ?? {})) {
    for (const content of Object.values(responses[status]?.content ?? {}).slice(0, 1))
      content.example = example
  }
}

/** Replaces the placeholder for a missing description by the name of the status. */
function describeResponses({ responses = {} }: Operation): void {
  for (const [status, response] of Object.entries(responses)) {
    if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? status
  }
}

/** Replaces schemas that have a title by references to `schemas`, where they are added by their title. */
function withReferences(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const copy: Json = {}
  for (const [name, inside] of Object.entries(value)) {
    copy[name] = name === 'example' ? inside : withReferences(inside, schemas)
  }
  const { title, type } = copy
  if (typeof title !== 'string' || type === undefined) return copy
  const other = schemas[title]
  if (other !== undefined && JSON.stringify(other) !== JSON.stringify(copy)) {
    throw new Error(`two schemas of the API have the title ${title}`)
  }
  schemas[title] = copy
  return { $ref: `#/components/schemas/${title}` }
}
