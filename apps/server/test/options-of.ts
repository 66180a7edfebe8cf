import type { JsonSchema } from '../src/config-file/json-schema.js'

/** Every option of a schema by its name in the documentation: `limits.headersTimeout`, `policies.*.limit`, `rules[].key`. */
export function optionsOf(schema: JsonSchema, path = ''): { path: string; schema: JsonSchema }[] {
  const found: { path: string; schema: JsonSchema }[] = []
  for (const [name, inside] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`
    found.push({ path: at, schema: inside }, ...insideOf(inside, at))
  }
  return found
}

function insideOf(schema: JsonSchema, path: string): ReturnType<typeof optionsOf> {
  // The schema for editors also allows a variable, which has no options.
  const own = schema.anyOf?.[0] ?? schema
  const { items, additionalProperties } = own
  return [
    ...optionsOf(own, path),
    ...(items === undefined ? [] : optionsOf(items, `${path}[]`)),
    ...(typeof additionalProperties === 'object' ? optionsOf(additionalProperties, `${path}.*`) : []),
  ]
}
