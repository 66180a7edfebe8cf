import { connectionsSchema } from '../../config-file/connection-limits-schema.js'
import { addressFields, type JsonSchema, section, type Values } from '../../config-file/json-schema.js'

/** The schema of CORS rules by path. The names of the fields are Spring's. */
export function corsSchema({ text, trueOrFalse, duration }: Values): JsonSchema {
  const list = (description: string, example: string): JsonSchema => ({
    type: ['string', 'array'],
    description,
    default: [],
    items: text({ examples: [example] }),
    examples: [example],
  })
  return {
    type: 'object',
    description:
      'Cross-origin requests (CORS) that browsers allow, by path; the first path that matches is used. Default: CORS is left to the upstreams.',
    default: {},
    additionalProperties: {
      type: 'object',
      additionalProperties: false,
      properties: {
        allowedOrigins: list('Origins of the pages; * for all.', 'https://app.example.com'),
        allowedOriginPatterns: list('Origins with * for any text.', 'https://*.example.com'),
        allowedMethods: {
          ...list('Methods that pages may use; * for all.', 'GET, POST'),
          default: ['GET', 'HEAD'],
        },
        allowedHeaders: list('Request headers that pages may set; * for all.', 'Authorization'),
        exposedHeaders: list(
          'Response headers that pages may read, besides those of the rate limits.',
          'X-Request-Id',
        ),
        allowCredentials: trueOrFalse({
          description: 'Whether browsers may send cookies and other credentials.',
          default: false,
        }),
        maxAge: duration({
          description: 'How long a browser may cache the response to a preflight; a number is in seconds.',
          default: '30m',
        }),
      },
    },
  }
}

/** The schema of a list of predicates or filters. `gateway/spring` checks their names and arguments. */
function parts(description: string, examples: readonly [string, ...string[]]): JsonSchema {
  return {
    type: 'array',
    description,
    default: [],
    items: {
      type: ['string', 'object'],
      minLength: 1,
      description: 'A name with values, such as Path=/api/**, or an object with name and args.',
      examples,
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          description: 'The name of the predicate or filter.',
          examples: [nameIn(examples[0])],
        },
        args: { type: 'object', description: 'Its arguments, by name.', default: {} },
      },
    },
  }
}

function nameIn(shortcut: string): string {
  return shortcut.slice(0, shortcut.indexOf('='))
}

export function routesSchema({ text, wholeNumber, duration, trueOrFalse }: Values): JsonSchema {
  return {
    type: 'array',
    description: 'Routes to upstreams. A request takes the first route that matches, in ascending order.',
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['uri'],
      properties: {
        id: text({
          description: 'The name of the route in metrics and logs. Default: derived from uri and predicates.',
          maxLength: 256,
          examples: ['api-route'],
        }),
        uri: {
          type: ['string', 'array'],
          description:
            'The upstream, or a list of upstreams: scheme, host and port. ws: and wss: allow WebSockets; no://op is for a route without upstream.',
          minItems: 1,
          minLength: 1,
          items: text({ examples: ['http://localhost:8081'] }),
          examples: ['http://localhost:8081'],
        },
        order: wholeNumber({
          description: 'Routes with a smaller order are tried first.',
          minimum: -2_147_483_648,
          maximum: 2_147_483_647,
          default: 0,
        }),
        predicates: parts('Conditions that a request must all meet. Default: every request matches.', [
          'Path=/api/**',
        ]),
        filters: parts('Filters for the request and its response, after the default filters.', [
          'StripPrefix=1',
        ]),
        metadata: {
          type: 'object',
          description:
            "Spring's: connect-timeout and response-timeout in milliseconds are used, other values are ignored.",
          default: {},
        },
        connectTimeout: duration({ description: 'Overrides the option of the gateway.' }),
        headersTimeout: duration({ description: 'Overrides the option of the gateway.' }),
        bodyTimeout: duration({ description: 'Overrides the option of the gateway.' }),
        healthCheck: {
          ...section('Health checks of each upstream. Default: upstreams count as healthy.', {
            path: text({
              description: 'The path to request; a status below 400 is healthy.',
              examples: ['/health'],
            }),
            interval: duration({ description: 'Time between health checks.', default: '10s' }),
            timeout: duration({ description: 'How long a response may take.', default: '2s' }),
          }),
          required: ['path'],
        },
        webSocket: trueOrFalse({
          description: 'Whether WebSockets are allowed; always true for ws: and wss:.',
          default: false,
        }),
      },
    },
  }
}

export const defaultFiltersSchema = () =>
  parts('Filters of every route, before its own.', ['AddResponseHeader=X-Response-Default-Red, Default-Blue'])

export function gatewaySchema(values: Values): JsonSchema {
  const { text, word, wholeNumber, duration, place, trueOrFalse } = values
  return {
    ...section('A reverse proxy in front of your services, with rate limits per route. Default: none.', {
      listen: place({
        description: 'The address to listen on: a port, host:port, or an object.',
        default: '127.0.0.1:8000',
        additionalProperties: false,
        minimum: 0,
        maximum: 65_535,
        properties: {
          ...addressFields(values, 8000),
          tls: {
            ...section('TLS to clients. Default: plain HTTP.', {
              certFile: text({
                description: 'File with the certificate and its chain, as PEM.',
                examples: ['/etc/tidegate/cert.pem'],
              }),
              keyFile: text({
                description: 'File with its private key, as PEM.',
                examples: ['/etc/tidegate/key.pem'],
              }),
            }),
            required: ['certFile', 'keyFile'],
          },
          http2: trueOrFalse({
            description: 'Whether clients may use HTTP/2, which needs tls.',
            default: false,
          }),
        },
      }),
      routes: routesSchema(values),
      defaultFilters: defaultFiltersSchema(),
      'default-filters': {
        ...defaultFiltersSchema(),
        description: "The same as defaultFilters, in Spring's spelling.",
      },
      ignoreFilters: {
        type: 'array',
        description:
          'Names of filters in a Spring file to ignore: check that the routes are safe without them.',
        default: [],
        uniqueItems: true,
        items: text({
          title: 'the name of a filter',
          pattern: '^[\\w$.-]{1,128}$',
          examples: ['JwtAuthentication'],
        }),
      },
      cors: corsSchema(values),
      keyResolvers: {
        type: 'object',
        description:
          "Keys by the name in key-resolver: an expression such as header.x-user-id | 'anonymous', or a template such as {ip}:{path}.",
        default: {},
        additionalProperties: text({ examples: ["header.x-user-id | 'anonymous'"] }),
      },
      connectTimeout: duration({
        description: 'How long an upstream may take to accept a connection.',
        default: '5s',
      }),
      headersTimeout: duration({
        description: 'How long an upstream may take to begin its response.',
        default: '30s',
      }),
      bodyTimeout: duration({ description: 'How long an upstream may pause within a body.', default: '30s' }),
      minBodyRate: wholeNumber({
        description:
          'Bytes per second at which a request body must arrive on average, after its first 20 seconds; 0 accepts any rate.',
        minimum: 0,
        maximum: 1_000_000,
        default: 100,
      }),
      connections: connectionsSchema(values),
      maxConnections: wholeNumber({
        description: 'Maximum number of connections to one upstream.',
        minimum: 1,
        maximum: 65_535,
        default: 1024,
      }),
      accessLog: word({
        title: 'a format of the access log',
        description: 'Log of each request: off, json or combined.',
        enum: ['off', 'json', 'combined'],
        default: 'off',
      }),
    }),
  }
}
