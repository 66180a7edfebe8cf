import type { AlgorithmName } from '@tidegate/core'
import { BUILT_IN } from './built-in.js'
import { type JsonSchema, section, type Values } from './json-schema.js'

const ALGORITHMS: readonly AlgorithmName[] = [
  'token-bucket',
  'leaky-bucket',
  'sliding-window-counter',
  'sliding-window-log',
  'fixed-window',
]
const WINDOWS = ['sliding-window-counter', 'sliding-window-log', 'fixed-window']

export function policiesSchema({ word, whole, quantity }: Values): JsonSchema {
  const numbers: Record<string, JsonSchema> = {
    limit: whole({
      description: 'Windows: units per window, 1 to 1,000,000,000 (a log: to 100,000).',
      examples: [100],
    }),
    window: quantity({
      description: 'Windows: their length, 1ms to 366d.',
      examples: ['1m'],
    }),
    capacity: whole({
      description:
        'Buckets: the most they hold, 1 to 1,000,000,000. The largest burst, or the longest queue.',
      examples: [100],
    }),
    refillRate: quantity({
      description: 'Token bucket: tokens per second, or units per duration such as 100/1m.',
      examples: ['100/1m'],
    }),
    leakRate: quantity({
      description: 'Leaky bucket: units that leave per second, or per duration such as 100/1m.',
      examples: ['100/1m'],
    }),
  }
  const whenTheStoreFails: Record<string, JsonSchema> = {
    onStoreFailure: word({
      description:
        'What to answer while the store cannot: open lets through, closed refuses with 503, local counts in this process.',
      enum: ['open', 'closed', 'local'],
      default: 'open',
    }),
    instances: whole({
      description:
        'How many instances of the service share the limit: with local, each counts its part of it.',
      minimum: 1,
      default: 1,
    }),
  }
  const shown: Record<string, JsonSchema> = {
    keys: word({
      description: 'How the page shows the busiest keys: secret only as hashes.',
      enum: ['shown', 'secret'],
      default: 'shown',
    }),
  }
  const algorithm = word({
    title: 'an algorithm',
    description: 'How it counts.',
    enum: ALGORITHMS,
    examples: ['token-bucket'],
  })
  const needs = (algorithms: readonly string[], required: readonly string[]): JsonSchema => ({
    if: { required: ['algorithm'], properties: { algorithm: { enum: algorithms } } },
    // biome-ignore lint/suspicious/noThenProperty: that is what JSON Schema calls it
    then: { required },
  })
  const policy: JsonSchema = {
    type: 'object',
    description: 'An algorithm and its numbers.',
    additionalProperties: false,
    required: ['algorithm'],
    properties: { algorithm, ...numbers, ...whenTheStoreFails, ...shown },
    allOf: [
      needs(WINDOWS, ['limit', 'window']),
      needs(['token-bucket'], ['capacity', 'refillRate']),
      needs(['leaky-bucket'], ['capacity', 'leakRate']),
    ],
  }
  const builtIns = Object.entries(BUILT_IN).map(([name, { algorithm, ...own }]): [string, JsonSchema] => {
    const changed = Object.entries(own).map(([field, value]) => [
      field,
      { ...numbers[field], default: value },
    ])
    const properties = {
      algorithm: word({ description: 'Cannot change.', enum: [algorithm], default: algorithm }),
      ...Object.fromEntries(changed),
      ...whenTheStoreFails,
      ...shown,
    }
    return [name, section(`The built-in ${algorithm}; what is left out keeps its default.`, properties)]
  })

  return {
    type: 'object',
    description: 'Policies by name: a-z, 0-9, _ and -, up to 64.',
    default: {},
    properties: Object.fromEntries(builtIns),
    additionalProperties: policy,
  }
}
