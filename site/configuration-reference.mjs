import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Writes a table of every option of tidegate.yaml, from the schema that the service validates it with.
 * @param {string} root of the repository
 * @param {string} file to write
 */
export async function writeConfigurationReference(root, file) {
  const module = join(root, 'apps', 'server', 'dist', 'config', 'schema', 'file-schema.js')
  const { valueSchema } = await import(pathToFileURL(module).href)
  const sections = Object.entries(valueSchema.properties)
    .filter(([name]) => name !== 'spring')
    .map(([name, schema]) => sectionOf(name, schema))
  const text = `# Configuration reference

Every option of \`tidegate.yaml\`, generated from its schema. [Configuration](../operators/configuration.md) explains them with
examples. The options under \`spring.cloud.gateway\` are those of \`gateway\`. \`server\`, \`management\` and \`resilience4j\` are sections
of a [Spring file](../operators/gateway.md#a-spring-file).

${sections.join('\n')}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/**
 * @param {string} name
 * @param {any} schema
 */
function sectionOf(name, schema) {
  const rows = optionsOf(name, schema).map(({ path, schema }) => {
    const cells = [`\`${path}\``, typeOf(schema), cell(schema.description ?? ''), defaultOf(schema)]
    return `| ${cells.join(' | ')} |`
  })
  return `## ${name}\n\n| option | type | meaning | default |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

/**
 * @param {string} path
 * @param {any} schema
 * @returns {{ path: string, schema: any }[]}
 */
function optionsOf(path, schema) {
  const inside = [
    ...Object.entries(schema.properties ?? {}).map(([name, child]) => [`${path}.${name}`, child]),
    ...(typeof schema.additionalProperties === 'object' ? [[`${path}.*`, schema.additionalProperties]] : []),
    ...(schema.items === undefined ? [] : [[`${path}[]`, schema.items]]),
  ]
  return [{ path, schema }, ...inside.flatMap(([childPath, child]) => optionsOf(childPath, child))]
}

/** @param {any} schema */
function typeOf(schema) {
  if (schema.enum !== undefined)
    return schema.enum.map((/** @type {unknown} */ value) => `\`${value}\``).join(', ')
  const types = [schema.type ?? []].flat().join(' or ')
  const { minimum, maximum } = schema
  if (minimum === undefined && maximum === undefined) return types
  return `${types}, ${minimum ?? ''} to ${maximum ?? ''}`.trim()
}

/** @param {any} schema */
function defaultOf(schema) {
  if (schema.default === undefined) return ''
  return `\`${cell(typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default))}\``
}

/** @param {string} text */
function cell(text) {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;')
}
