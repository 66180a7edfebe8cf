import { escapeHtml, pageOf } from './page.js'

/** As much of an OpenAPI document as is shown. */
export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly (Field & { readonly name: string })[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Field {
  readonly description?: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** The API on one page: no script, nothing from elsewhere. */
export function docsPage({ info, paths }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'head')
      .map(([method, operation]) => operationHtml(method, path, operation)),
  )
  const intro = info.description === undefined ? '' : paragraph(info.description)
  const title = `${info.title} ${info.version}`
  return pageOf(title, `<h1>${escapeHtml(title)}</h1>\n${intro}\n${operations.join('\n')}`)
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const { summary = '', description, parameters = [], requestBody, responses } = operation
  const id = `${method}-${path.slice(1).replaceAll('/', '-')}`
  const query = parameters.map(({ name, ...field }): Row => {
    return [name, typeOf(field.schema), field.description ?? field.schema?.description ?? '']
  })
  const body = requestBody?.content['application/json']?.schema
  return `<section id="${escapeHtml(id)}">
<h2><code>${escapeHtml(`${method.toUpperCase()} ${path}`)}</code></h2>
${paragraph(summary)}${description === undefined ? '' : paragraph(description)}
${query.length === 0 ? '' : table('In the query', query)}
${body === undefined ? '' : table('In the body', fieldsOf(body))}
${Object.entries(responses).map(responseHtml).join('\n')}
</section>`
}

function responseHtml([status, { description = '', content }]: [
  string,
  Operation['responses'][string],
]): string {
  const says = description === 'Default Response' ? '' : ` ${description}`
  const schema = content?.['application/json']?.schema
  const fields = status === '200' && schema !== undefined ? fieldsOf(schema) : []
  return fields.length === 0 ? paragraph(`${status}${says}`) : table(`${status}${says}`, fields)
}

type Row = readonly [name: string, type: string, description: string]

/** The fields of an object, and of what is in it, by the names one would write: `checks[].key`. */
function fieldsOf({ properties = {} }: Schema, at = ''): Row[] {
  return Object.entries(properties).flatMap(([name, field]): Row[] => {
    const inside = field.items ?? field
    const below =
      inside.properties === undefined ? [] : fieldsOf(inside, `${at}${name}${field.items ? '[]' : ''}.`)
    return [[at + name, typeOf(field), field.description ?? ''], ...below]
  })
}

function typeOf(schema: Schema | undefined): string {
  if (schema?.enum !== undefined) return schema.enum.join(', ')
  return [schema?.type ?? ''].flat().join(' or ')
}

function table(caption: string, rows: readonly Row[]): string {
  const cells = rows.map(([name, type, description]) => {
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(type)}</td><td>${escapeHtml(description)}</td></tr>`
  })
  return `<h3>${escapeHtml(caption)}</h3>\n<table>\n${cells.join('\n')}\n</table>`
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`
}
