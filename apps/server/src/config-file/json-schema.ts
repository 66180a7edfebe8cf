/** The part of JSON Schema, draft 7, that is used here. Editors support that draft best. */
export interface JsonSchema {
  $schema?: string
  $ref?: string
  title?: string
  description?: string
  type?: string | readonly string[]
  enum?: readonly unknown[]
  default?: unknown
  examples?: readonly unknown[]
  /** A secret: its value is never shown. */
  writeOnly?: boolean
  properties?: Readonly<Record<string, JsonSchema>>
  additionalProperties?: boolean | JsonSchema
  required?: readonly string[]
  items?: JsonSchema
  uniqueItems?: boolean
  minItems?: number
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
  anyOf?: readonly JsonSchema[]
  allOf?: readonly JsonSchema[]
  if?: JsonSchema
  then?: JsonSchema
}

/** The schema of an entry of an object or a list. */
export function schemaOf(schema: JsonSchema | undefined, step: string | number): JsonSchema | undefined {
  if (typeof step === 'number') return schema?.items
  const { properties, additionalProperties } = schema ?? {}
  if (properties !== undefined && Object.hasOwn(properties, step)) return properties[step]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const DURATION = '^\\d{1,15}(\\.\\d{1,6})?(ms|s|m|h|d)$'

/** Returns functions that create the schemas of single values. `scalar` may widen all schemas but that of free text. */
export function valuesThrough(scalar: (schema: JsonSchema) => JsonSchema) {
  return {
    text(schema: JsonSchema): JsonSchema {
      const text = { type: 'string', minLength: 1, ...schema }
      return text.pattern === undefined ? text : scalar(text)
    },
    /** A word from a fixed list. */
    word: (schema: JsonSchema): JsonSchema => scalar({ type: 'string', ...schema }),
    /** True or false, or an object with options. */
    flag: (schema: JsonSchema): JsonSchema => scalar({ type: ['boolean', 'object'], ...schema }),
    trueOrFalse: (schema: JsonSchema): JsonSchema => scalar({ type: 'boolean', ...schema }),
    /** A port, `host:port`, or an object with options. */
    place: (schema: JsonSchema): JsonSchema => scalar({ type: ['integer', 'string', 'object'], ...schema }),
    wholeNumber: (schema: JsonSchema): JsonSchema => scalar({ type: 'integer', ...schema }),
    /** A number, or text such as `30s` or `100/1m` that the reader of the option parses. */
    quantity: (schema: JsonSchema): JsonSchema => scalar({ type: ['number', 'string'], ...schema }),
    duration: (schema: JsonSchema): JsonSchema =>
      scalar({
        title: 'a duration',
        type: ['integer', 'string'],
        minimum: 0,
        pattern: DURATION,
        examples: ['30s'],
        ...schema,
      }),
  }
}

export type Values = ReturnType<typeof valuesThrough>

/** The host and the port of a server. */
export function addressFields({ text, wholeNumber }: Values, defaultPort: number) {
  return {
    host: text({
      description: 'The address to listen on; 0.0.0.0 or :: for all addresses.',
      default: '127.0.0.1',
    }),
    port: wholeNumber({
      description: 'The port to listen on; 0 for any free port.',
      minimum: 0,
      maximum: 65_535,
      default: defaultPort,
    }),
  }
}

/** An object with these keys and no others. */
export function section(description: string, properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', description, additionalProperties: false, properties }
}
