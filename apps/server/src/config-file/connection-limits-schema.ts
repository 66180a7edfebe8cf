import { type JsonSchema, section, type Values } from './json-schema.js'

const MAX = 1_000_000

export function connectionsSchema({ wholeNumber }: Values): JsonSchema {
  return section('Maximum numbers of open client connections in each process.', {
    max: wholeNumber({ description: 'For all clients together.', minimum: 1, maximum: MAX, default: 10_000 }),
    maxPerClient: wholeNumber({
      description:
        'For one address, unless it is a trusted proxy. An IPv6 address counts by its ipv6Prefix. Default: a tenth of max.',
      minimum: 1,
      maximum: MAX,
      examples: [1000],
    }),
  })
}
