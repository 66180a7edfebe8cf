import type { JsonSchema } from '../src/config/json-schema.js'

/** Every option of a schema as it is called in documentation: `limits.headersTimeout`, `policies.*.limit`, `rules[].key`. */
export function optionsOf(schema: JsonSchema, path = ''): { path: string; schema: JsonSchema }[] {
  const found: { path: string; schema: JsonSchema }[] = []
  for (const [name, inside] of Object.entries(schema.properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`
    found.push({ path: at, schema: inside }, ...insideOf(inside, at))
  }
  return found
}

function insideOf(schema: JsonSchema, path: string): ReturnType<typeof optionsOf> {
  // Editors may write a variable instead, which has nothing inside.
  const own = schema.anyOf?.[0] ?? schema
  const { items, additionalProperties } = own
  return [
    ...optionsOf(own, path),
    ...(items === undefined ? [] : optionsOf(items, `${path}[]`)),
    ...(typeof additionalProperties === 'object' ? optionsOf(additionalProperties, `${path}.*`) : []),
  ]
}
