import type { ConnectionLimits } from '../connections.js'
import type { ConfigDocument } from './document.js'
import { type JsonSchema, section, type Values } from './json-schema.js'
import { optionOf } from './options.js'

const MAX = 1_000_000

export function connectionsSchema({ whole }: Values): JsonSchema {
  return section('Client connections that may be open at once, in each process.', {
    max: whole({ description: 'Of all clients together.', minimum: 1, maximum: MAX, default: 10_000 }),
    maxPerClient: whole({
      description:
        'Of one address, unless it is a trusted proxy. An IPv6 address counts by its ipv6Prefix. Default: a tenth of max.',
      minimum: 1,
      maximum: MAX,
      examples: [1000],
    }),
  })
}

/** Reads `connections` of the section at `path`: `[]` for the API, `['gateway']` for the gateway. */
export function readConnections(document: ConfigDocument, path: readonly string[]): ConnectionLimits {
  const option = optionOf(document)
  const max = option.whole(...path, 'connections', 'max')
  const at = [...path, 'connections', 'maxPerClient']
  const maxPerClient = (option.whole(...at) as number | undefined) ?? Math.max(1, Math.floor(max / 10))
  if (maxPerClient > max) {
    document.wrong(
      at,
      `must not be more than max, which is ${max}, got ${maxPerClient}; write for example ${max}`,
    )
  }
  return Object.freeze({ max, maxPerClient })
}
