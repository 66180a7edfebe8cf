import { type JsonSchema, section, type Values } from '../../config-file/json-schema.js'
import { corsSchema, defaultFiltersSchema, routesSchema } from './gateway-schema.js'

/*
 * The sections of a Spring application that are read. Names are kebab-case; `spring-file/` accepts the other spellings,
 * and collects the options that are not here.
 */

/** A section that is not read, whose options are listed one by one. */
const UNREAD = section('Not read.', {})

/** `spring`, `server`, `management` and `resilience4j`. */
export function springSections(values: Values): Record<string, JsonSchema> {
  const { text, wholeNumber } = values
  return {
    spring: section('A Spring application: routes, default filters, CORS, instances of services, Redis.', {
      cloud: section('gateway and discovery.', {
        gateway: section('Spring Cloud Gateway.', {
          ...gateway(values),
          server: section('The location in Spring Cloud 2025.', {
            webflux: section('The same options.', gateway(values)),
          }),
        }),
        discovery: section('For lb:// addresses.', {
          client: section('Only simple is read.', {
            simple: section('Services with fixed addresses.', {
              instances: {
                type: 'object',
                description: 'Addresses by service.',
                additionalProperties: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: { uri: text({ examples: ['http://localhost:8081'] }) },
                  },
                },
              },
            }),
          }),
        }),
      }),
      data: section('Only redis is read.', { redis: redis(values) }),
      config: UNREAD,
      webflux: UNREAD,
      redis: redis(values),
    }),
    server: section("The gateway's own address.", {
      port: wholeNumber({ description: 'As gateway.listen.', minimum: 0, maximum: 65_535 }),
      address: text({ description: 'As gateway.listen.host.' }),
      servlet: UNREAD,
      ssl: section('As gateway.listen.tls, with PEM files.', {
        enabled: values.trueOrFalse({ description: 'Whether TLS is used.' }),
        certificate: text({ description: 'File with the certificate.' }),
        'certificate-private-key': text({ description: 'File with its private key.' }),
      }),
    }),
    management: section("The service's own address.", {
      server: section('Only port is read.', {
        port: wholeNumber({ description: 'As port.', minimum: 0, maximum: 65_535 }),
      }),
    }),
    resilience4j: section('Options of circuit breakers, by name.', {
      circuitbreaker: section('Windows and thresholds.', instances(breaker(values))),
      timelimiter: section('Timeouts.', {
        ...instances({ 'timeout-duration': anyDuration('How long a request may take.') }),
      }),
    }),
  }
}

function gateway(values: Values): Record<string, JsonSchema> {
  return {
    enabled: values.trueOrFalse({ description: 'Whether these routes are read.' }),
    routes: { ...routesSchema(values), description: 'As gateway.routes.' },
    'default-filters': { ...defaultFiltersSchema(), description: 'As gateway.defaultFilters.' },
    discovery: section('Not read.', { locator: UNREAD }),
    globalcors: section('CORS.', { 'cors-configurations': corsSchema(values) }),
    httpclient: section('Timeouts.', {
      'connect-timeout': anyDuration('As gateway.connectTimeout.'),
      'response-timeout': anyDuration('As gateway.headersTimeout.'),
    }),
  }
}

/** Milliseconds, `2s` or `PT2S`. */
function anyDuration(description: string): JsonSchema {
  return { type: ['integer', 'string'], description, examples: ['2s'] }
}

function redis({ text, wholeNumber, trueOrFalse }: Values): JsonSchema {
  const nodes: JsonSchema = { type: ['string', 'array'], items: text({ examples: ['localhost:6379'] }) }
  return section('As store.', {
    url: text({ description: 'The whole address.', writeOnly: true }),
    host: text({ description: 'The host.' }),
    port: wholeNumber({ description: 'The port.', minimum: 0, maximum: 65_535, examples: [6379] }),
    username: text({ description: 'The user.' }),
    password: text({ description: 'The password.', writeOnly: true, minLength: 0 }),
    database: wholeNumber({ description: 'The database.', minimum: 0, maximum: 99_999 }),
    'connect-timeout': anyDuration('As store.connectTimeout.'),
    ssl: {
      type: ['boolean', 'object'],
      description: 'Whether TLS is used.',
      properties: { enabled: trueOrFalse({ description: 'Whether TLS is used.' }) },
    },
    cluster: section('Redis Cluster.', { nodes }),
    sentinel: section('Redis Sentinel.', {
      master: text({ description: 'The name of the primary.' }),
      nodes,
    }),
  })
}

function breaker({ wholeNumber }: Values): Record<string, JsonSchema> {
  const count = (description: string) => wholeNumber({ description, minimum: 1, maximum: 100_000 })
  return {
    'base-config': { type: 'string', description: 'The shared configuration to start from.' },
    'sliding-window-size': count('Number of latest requests that are counted.'),
    'minimum-number-of-calls': count('Number of requests before the breaker can open.'),
    'permitted-number-of-calls-in-half-open-state': count('Number of trial requests while half-open.'),
    'failure-rate-threshold': {
      type: 'number',
      description: 'Failures in percent.',
      minimum: 0.01,
      maximum: 100,
    },
    'wait-duration-in-open-state': anyDuration('How long the breaker stays open.'),
  }
}

/** `configs` and `instances`, both by name. */
function instances(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const byName = (description: string): JsonSchema => ({
    type: 'object',
    description,
    additionalProperties: { type: 'object', additionalProperties: false, properties },
  })
  return { configs: byName('Shared options.'), instances: byName('Options of one breaker.') }
}
