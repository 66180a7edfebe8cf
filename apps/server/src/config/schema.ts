import { connectionsSchema } from './connections-schema.js'
import { gatewaySchema, springSchema } from './gateway-schema.js'
import { type JsonSchema, section, valuesThrough } from './json-schema.js'
import { policiesSchema } from './policies-schema.js'
import { rulesSchema } from './rules-schema.js'
import { storeSchema } from './store-schema.js'
import { MIN_TOKEN_LENGTH, TOKEN_PATTERN } from './token.js'

/*
 * Every option of the configuration file: its name, its type and its default. The modules that read an option check what
 * its value means.
 */

function fileSchema(scalar: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const values = valuesThrough(scalar)
  const { text, word, whole, duration } = values
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tidegate.yaml',
    description: 'Configuration of the Tidegate service. Everything is optional.',
    type: 'object',
    additionalProperties: false,
    properties: {
      host: text({
        description: 'The address to listen on; 0.0.0.0 or :: for every one.',
        default: '127.0.0.1',
      }),
      port: whole({
        description: 'The port to listen on; 0 takes any free one.',
        minimum: 0,
        maximum: 65_535,
        default: 8080,
      }),
      store: storeSchema(values),
      adminToken: text({
        description:
          'What administrators send as Authorization: Bearer, at least 16 characters. Default: generated at each start and logged.',
        minLength: MIN_TOKEN_LENGTH,
        pattern: TOKEN_PATTERN,
        writeOnly: true,
        examples: ['${ADMIN_TOKEN}'],
      }),
      callers: {
        type: 'array',
        description: 'Who may check, each with a token. Without any, everybody who can reach the port may.',
        default: [],
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'token'],
          properties: {
            name: text({ description: 'For logs.', pattern: '^[\\w.-]{1,64}$', examples: ['shop'] }),
            token: text({
              description: 'What the caller sends as Authorization: Bearer, at least 16 characters.',
              minLength: MIN_TOKEN_LENGTH,
              pattern: TOKEN_PATTERN,
              writeOnly: true,
              examples: ['${SHOP_TOKEN}'],
            }),
            keyPrefix: text({
              description: 'What every key it asks about must begin with.',
              maxLength: 256,
              examples: ['shop:'],
            }),
            policies: {
              type: 'array',
              description: 'The policies it may use. Default: all.',
              minItems: 1,
              uniqueItems: true,
              items: text({ examples: ['per-user'] }),
            },
          },
        },
      },
      allowedHosts: {
        type: 'array',
        description:
          'Host names that requests may be sent to, without port; addresses and localhost are always accepted. Default: any name, or none while listening on a loopback address without callers.',
        default: [],
        items: text({ pattern: '^[A-Za-z0-9_.-]{1,253}$', examples: ['limits.example.com'] }),
      },
      connections: connectionsSchema(values),
      keyPattern: text({
        description:
          'A regular expression that a whole key must match that is asked about. Default: any key.',
        maxLength: 1000,
        examples: ['user:\\d+'],
      }),
      policies: policiesSchema(values),
      default: text({
        description: 'The policy of a check that names none.',
        default: 'token_bucket',
        examples: ['per-user'],
      }),
      rules: rulesSchema(values),
      trustedProxies: {
        type: 'array',
        description: 'Addresses and CIDRs of proxies whose forwarding headers are believed.',
        default: [],
        items: text({ examples: ['10.0.0.0/8'] }),
      },
      forwardedHeader: word({
        description: 'Which header your proxies write.',
        enum: ['x-forwarded-for', 'forwarded'],
        default: 'x-forwarded-for',
      }),
      ipv6Prefix: whole({
        description: 'How many leading bits of an IPv6 address are one client.',
        minimum: 1,
        maximum: 128,
        default: 64,
      }),
      gateway: gatewaySchema(values),
      spring: springSchema(values),
      health: section('What health checks answer.', {
        statusWhenStoreIsDown: whole({
          description:
            'The status while the store is lost: 200 keeps this instance in service, 503 takes it out.',
          enum: [200, 503],
          default: 200,
        }),
      }),
      log: section('What is logged.', {
        level: word({
          title: 'a level',
          description: 'The least serious lines that are written.',
          enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
          default: 'info',
        }),
      }),
      limits: section('Sizes and timeouts of requests and responses. Bodies: 64 KiB, a batch 512 KiB.', {
        maxHeaderBytes: whole({
          description: 'The most bytes of request line and headers.',
          minimum: 1024,
          maximum: 1_048_576,
          default: 16_384,
        }),
        headersTimeout: duration({ description: 'In which all headers must arrive.', default: '10s' }),
        requestTimeout: duration({ description: 'In which the whole request must arrive.', default: '30s' }),
        responseTimeout: duration({
          description: 'How long a client may take to accept a response before its connection is closed.',
          default: '30s',
        }),
        keepAliveTimeout: duration({
          description: 'How long an idle connection is kept; longer than the proxy in front keeps its own.',
          default: '72s',
        }),
        stopTimeout: duration({
          description: 'How long requests in flight may take to finish when the service is stopped.',
          default: '10s',
        }),
      }),
    },
  }
}

/** The schema of the values after variables are replaced. */
export const valueSchema = fileSchema((scalar) => scalar)

/** The published schema for editors: `${VARIABLE}` is accepted in place of any number or keyword. */
export const editorSchema = fileSchema(({ description, default: fallback, examples, ...scalar }) => ({
  ...(description === undefined ? {} : { description }),
  ...(fallback === undefined ? {} : { default: fallback }),
  ...(examples === undefined ? {} : { examples }),
  anyOf: [scalar, { type: 'string', pattern: '\\$\\{' }],
}))

/** The default of an option, such as `defaultOf('limits', 'headersTimeout')`. */
export function defaultOf(...path: string[]): unknown {
  return path.reduce<JsonSchema | undefined>((schema, step) => schema?.properties?.[step], valueSchema)
    ?.default
}
