import { connectionsSchema } from './connections-schema.js'
import { type JsonSchema, section, type Values } from './json-schema.js'

/** Predicates and filters: what they may be called and be given, `gateway/` says. */
function parts(description: string, examples: readonly [string, ...string[]]): JsonSchema {
  return {
    type: 'array',
    description,
    default: [],
    items: {
      type: ['string', 'object'],
      minLength: 1,
      description: 'A name and values, or name and args.',
      examples,
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          description: 'What it is called.',
          examples: [nameIn(examples[0])],
        },
        args: { type: 'object', description: 'What it is given, by name.', default: {} },
      },
    },
  }
}

function nameIn(shortcut: string): string {
  return shortcut.slice(0, shortcut.indexOf('='))
}

function routes({ text, whole, duration, trueOrFalse }: Values): JsonSchema {
  return {
    type: 'array',
    description:
      'Where requests go. The first route whose predicates all hold is taken, the smallest order first.',
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['uri'],
      properties: {
        id: text({
          description: 'What it is called in metrics and logs. Default: made of its uri and predicates.',
          maxLength: 256,
          examples: ['api-route'],
        }),
        uri: {
          type: ['string', 'array'],
          description:
            'The upstream, or a list of them: scheme, host and port. ws: and wss: let WebSockets through; no://op has none.',
          minItems: 1,
          minLength: 1,
          items: text({ examples: ['http://localhost:8081'] }),
          examples: ['http://localhost:8081'],
        },
        order: whole({
          description: 'Routes with a smaller one are asked first.',
          minimum: -2_147_483_648,
          maximum: 2_147_483_647,
          default: 0,
        }),
        predicates: parts('What a request must have, all of it. Without any, every request has it.', [
          'Path=/api/**',
        ]),
        filters: parts('What is done with a request and its answer, after the default filters.', [
          'StripPrefix=1',
        ]),
        metadata: {
          type: 'object',
          description:
            "Spring's: connect-timeout and response-timeout in milliseconds are used, other values are nobody's.",
          default: {},
        },
        connectTimeout: duration({ description: "Instead of the gateway's." }),
        headersTimeout: duration({ description: "Instead of the gateway's." }),
        bodyTimeout: duration({ description: "Instead of the gateway's." }),
        healthCheck: {
          ...section('How each upstream is asked whether it is well. Without it, it is taken to be.', {
            path: text({
              description: 'What is asked for; any status below 400 is well.',
              examples: ['/health'],
            }),
            interval: duration({ description: 'How often.', default: '10s' }),
            timeout: duration({ description: 'In which it must answer.', default: '2s' }),
          }),
          required: ['path'],
        },
        webSocket: trueOrFalse({
          description: 'Whether WebSockets are let through; always so for ws: and wss:.',
          default: false,
        }),
      },
    },
  }
}

const defaultFilters = () =>
  parts('Filters of every route, before its own.', ['AddResponseHeader=X-Response-Default-Red, Default-Blue'])

export function gatewaySchema(values: Values): JsonSchema {
  const { text, word, whole, duration, place, trueOrFalse } = values
  return {
    ...section('A proxy in front of your services, which limits each route. Without it, there is none.', {
      listen: place({
        description: 'Where clients reach it: a port, host:port, or an object.',
        default: '127.0.0.1:8000',
        additionalProperties: false,
        minimum: 0,
        maximum: 65_535,
        properties: {
          host: text({
            description: 'The address to listen on; 0.0.0.0 or :: for every one.',
            default: '127.0.0.1',
          }),
          port: whole({
            description: 'The port to listen on; 0 takes any free one.',
            minimum: 0,
            maximum: 65_535,
            default: 8000,
          }),
          tls: {
            ...section('TLS to clients. Without it, plain HTTP.', {
              certFile: text({
                description: 'The file of the certificate and its chain, as PEM.',
                examples: ['/etc/tidegate/cert.pem'],
              }),
              keyFile: text({
                description: 'The file of its private key, as PEM.',
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
      routes: routes(values),
      defaultFilters: defaultFilters(),
      'default-filters': {
        ...defaultFilters(),
        description: 'The same as defaultFilters, as Spring writes it.',
      },
      keyResolvers: {
        type: 'object',
        description:
          "Who is asking, by name, for key-resolver: an expression such as header.x-user-id | 'anonymous', or a template such as {ip}:{path}.",
        default: {},
        additionalProperties: text({ examples: ["header.x-user-id | 'anonymous'"] }),
      },
      connectTimeout: duration({
        description: 'In which an upstream must accept a connection.',
        default: '5s',
      }),
      headersTimeout: duration({ description: 'In which an upstream must begin to answer.', default: '30s' }),
      bodyTimeout: duration({ description: 'How long an upstream may pause within a body.', default: '30s' }),
      minBodyRate: whole({
        description:
          'Bytes per second at which a request body must arrive on average, after its first 20 seconds; 0 accepts any rate.',
        minimum: 0,
        maximum: 1_000_000,
        default: 100,
      }),
      connections: connectionsSchema(values),
      maxConnections: whole({
        description: 'The most connections to one upstream.',
        minimum: 1,
        maximum: 65_535,
        default: 1024,
      }),
      accessLog: word({
        title: 'a form of the access log',
        description: 'Whether each request is logged, and how: json or combined.',
        enum: ['off', 'json', 'combined'],
        default: 'off',
      }),
    }),
  }
}

/** Routes written for Spring Cloud Gateway, where they stand there; what else is there is told by `spring.ts`. */
export function springSchema(values: Values): JsonSchema {
  const here = () => ({
    routes: { ...routes(values), description: 'As gateway.routes.' },
    'default-filters': { ...defaultFilters(), description: 'As gateway.defaultFilters.' },
  })
  return section('Routes of Spring Cloud Gateway as they stand: cloud.gateway.routes and default-filters.', {
    cloud: section('Only gateway is read.', {
      gateway: section('Where Spring has routes.', {
        ...here(),
        server: section('Where Spring Boot 4 has them.', { webflux: section('The same once more.', here()) }),
      }),
    }),
  })
}
