import { connectionsSchema } from '../../config-file/connection-limits-schema.js'
import { type JsonSchema, section, type Values } from '../../config-file/json-schema.js'

export function rlsSchema(values: Values): JsonSchema {
  const { text, word, wholeNumber, quantity, trueOrFalse, flag, place } = values
  return section('The rate limit service for Envoy. Default: off.', {
    listen: place({
      type: ['integer', 'string'],
      description: 'The port, or address and port, of the gRPC service. Without an address: that of host.',
      examples: [8081, '0.0.0.0:8081'],
    }),
    config: {
      type: 'array',
      description: 'Files and folders with limits in the format of envoyproxy/ratelimit.',
      default: [],
      items: text({ examples: ['/etc/ratelimit/config'] }),
    },
    tls: section('TLS for the gRPC service. Default: none.', {
      certFile: text({ description: 'The certificate chain, as PEM.', examples: ['/etc/tidegate/tls.crt'] }),
      keyFile: text({ description: 'Its private key, as PEM.', examples: ['/etc/tidegate/tls.key'] }),
      clientCaFile: text({
        description: 'Clients must have a certificate issued by this authority. Default: clients need none.',
        examples: ['/etc/tidegate/clients.crt'],
      }),
    }),
    connections: connectionsSchema(values),
    responseHeaders: flag({
      description:
        'Whether Envoy adds headers about the most restrictive limit to responses; an object sets their names.',
      default: false,
      examples: [true],
      additionalProperties: false,
      properties: {
        limit: text({ description: 'The header with the limit.', default: 'RateLimit-Limit' }),
        remaining: text({
          description: 'The header with the remaining hits.',
          default: 'RateLimit-Remaining',
        }),
        reset: text({ description: 'The header with the seconds to the reset.', default: 'RateLimit-Reset' }),
      },
    }),
    dynamicMetadata: trueOrFalse({
      description:
        'Whether responses have dynamic metadata: the request, and the metadata of its descriptors.',
      default: false,
    }),
    shadowMode: trueOrFalse({
      description: 'Dry run: count everything, and allow every request.',
      default: false,
    }),
    quotaMode: trueOrFalse({
      description:
        'Quota mode for every rule: a request is denied only if all of its rules are over the limit.',
      default: false,
    }),
    mergeDomains: trueOrFalse({
      description: 'Whether several files may have the same domain.',
      default: false,
    }),
    nearLimitRatio: quantity({
      description: 'Hits above this fraction of a limit count as near the limit.',
      minimum: 0,
      maximum: 1,
      default: 0.8,
    }),
    onStoreFailure: word({
      description:
        'While the store is unavailable: error responds with a gRPC error, so that failure_mode_deny of Envoy decides; open allows, closed denies, local counts in this process.',
      enum: ['error', 'open', 'closed', 'local'],
      default: 'error',
    }),
    instances: wholeNumber({
      description: 'With local: how many instances of the service share the limits.',
      minimum: 1,
      default: 1,
    }),
  })
}
