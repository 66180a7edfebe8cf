import { connectionsSchema } from '../../config-file/connection-limits-schema.js'
import {
  addressFields,
  type JsonSchema,
  section,
  type Values,
  valuesThrough,
} from '../../config-file/json-schema.js'
import { gatewaySchema } from '../../gateway/config/gateway-schema.js'
import { springSections } from '../../gateway/config/spring-schema.js'
import { rlsSchema } from '../../rls/config/rls-schema.js'
import { policiesSchema } from './policies-schema.js'
import { rulesSchema } from './rules-schema.js'
import { storeSchema } from './store-schema.js'
import { MIN_TOKEN_LENGTH, TOKEN_PATTERN } from './token-format.js'

/*
 * Every option of the configuration file: its name, its type and its default. The modules that read an option check the
 * meaning of its value.
 */

function fileSchema(
  scalar: (schema: JsonSchema) => JsonSchema,
  springs: (values: Values) => Record<string, JsonSchema>,
): JsonSchema {
  const values = valuesThrough(scalar)
  const { text, word, wholeNumber, duration } = values
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'tidegate.yaml',
    description: 'Configuration of the Tidegate service. Everything is optional.',
    type: 'object',
    additionalProperties: false,
    properties: {
      ...addressFields(values, 8080),
      store: storeSchema(values),
      adminToken: text({
        description:
          'The token that administrators send as Authorization: Bearer, at least 16 characters. Default: generated at each start and logged.',
        minLength: MIN_TOKEN_LENGTH,
        pattern: TOKEN_PATTERN,
        writeOnly: true,
        examples: ['${ADMIN_TOKEN}'],
      }),
      callers: {
        type: 'array',
        description:
          'Clients that may check keys, each with a token. Default: every client that can reach the port.',
        default: [],
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'token'],
          properties: {
            name: text({
              title: 'a name of 1 to 64 letters, digits, "_", "." and "-"',
              description: 'The name in logs.',
              pattern: '^[\\w.-]{1,64}$',
              examples: ['shop'],
            }),
            token: text({
              description:
                'The token that the caller sends as Authorization: Bearer, at least 16 characters.',
              minLength: MIN_TOKEN_LENGTH,
              pattern: TOKEN_PATTERN,
              writeOnly: true,
              examples: ['${SHOP_TOKEN}'],
            }),
            keyPrefix: text({
              description: 'The prefix that every key of the caller must have.',
              maxLength: 256,
              examples: ['shop:'],
            }),
            policies: {
              type: 'array',
              description: 'The policies that the caller may use. Default: all.',
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
        items: text({
          title: 'a host name',
          pattern: '^[A-Za-z0-9_.-]{1,253}$',
          examples: ['limits.example.com'],
        }),
      },
      connections: connectionsSchema(values),
      keyPattern: text({
        description: 'A regular expression that the whole key of a check must match. Default: any key.',
        maxLength: 1000,
        examples: ['user:\\d+'],
      }),
      policies: policiesSchema(values),
      default: text({
        description: 'The policy for checks without a policy.',
        default: 'token_bucket',
        examples: ['per-user'],
      }),
      rules: rulesSchema(values),
      trustedProxies: {
        type: 'array',
        description: 'Addresses and CIDR ranges of proxies whose forwarding headers are trusted.',
        default: [],
        items: text({ examples: ['10.0.0.0/8'] }),
      },
      forwardedHeader: word({
        description: 'The header that your proxies set.',
        enum: ['x-forwarded-for', 'forwarded'],
        default: 'x-forwarded-for',
      }),
      ipv6Prefix: wholeNumber({
        description: 'Number of leading bits of an IPv6 address that identify a client.',
        minimum: 1,
        maximum: 128,
        default: 64,
      }),
      gateway: gatewaySchema(values),
      ...springs(values),
      rls: rlsSchema(values),
      health: section('Responses to health checks.', {
        statusWhenStoreIsDown: wholeNumber({
          description:
            'The status while the store is unavailable: 200 keeps this instance in service, 503 takes it out.',
          enum: [200, 503],
          default: 200,
        }),
      }),
      log: section('Logging.', {
        level: word({
          title: 'a level',
          description: 'The lowest level that is logged.',
          enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
          default: 'info',
        }),
      }),
      limits: section('Sizes and timeouts of requests and responses. Bodies: 64 KiB, a batch 512 KiB.', {
        maxHeaderBytes: wholeNumber({
          description: 'Maximum size of request line and headers, in bytes.',
          minimum: 1024,
          maximum: 1_048_576,
          default: 16_384,
        }),
        headersTimeout: duration({ description: 'How long all headers may take to arrive.', default: '10s' }),
        requestTimeout: duration({
          description: 'How long the whole request may take to arrive.',
          default: '30s',
        }),
        responseTimeout: duration({
          description: 'How long a client may pause reading a response before its connection is closed.',
          default: '30s',
        }),
        keepAliveTimeout: duration({
          description: 'How long an idle connection is kept open; must be longer than in the proxy in front.',
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
export const valueSchema = fileSchema((scalar) => scalar, springSections)

/** The published schema for editors: `${VARIABLE}` is accepted in place of any number or keyword. */
export const editorSchema = fileSchema(
  ({ description, default: fallback, examples, ...scalar }) => ({
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(examples === undefined ? {} : { examples }),
    anyOf: [scalar, { type: 'string', pattern: '\\$\\{' }],
  }),
  () => ({ spring: { type: 'object', description: 'A Spring application, as in its application.yml.' } }),
)
