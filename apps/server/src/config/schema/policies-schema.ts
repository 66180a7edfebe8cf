import type { Policy } from '@tidegate/core'
import { type JsonSchema, section, type Values } from '../../config-file/json-schema.js'
import { BUILT_IN } from './built-in-policies.js'

const ALGORITHMS: readonly Policy['algorithm'][] = [
  'token-bucket',
  'leaky-bucket',
  'sliding-window-counter',
  'sliding-window-log',
  'fixed-window',
  'concurrency',
]
const WINDOWS = ['sliding-window-counter', 'sliding-window-log', 'fixed-window']

export function policiesSchema({ word, wholeNumber, quantity, trueOrFalse, flag }: Values): JsonSchema {
  const numbers: Record<string, JsonSchema> = {
    limit: wholeNumber({
      description:
        'Windows: units per window, 1 to 1,000,000,000 (a log: to 100,000; a fixed window: to 999,999,999,999,999). Concurrency: requests in flight, 1 to 100,000.',
      examples: [100],
    }),
    window: quantity({
      description:
        'Windows: their length, 1ms to 366d. Fixed windows also: day, week, month or year of the calendar.',
      examples: ['1m'],
    }),
    capacity: wholeNumber({
      description: 'Buckets: the largest burst, or the longest queue, 1 to 1,000,000,000.',
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
  const ttl = quantity({
    description: 'Concurrency: lifetime of a slot without a renewal, 1s to 1d.',
    default: '30s',
  })
  const windowOptions: Record<string, JsonSchema> = {
    start: word({
      description:
        "Fixed window: where windows begin, at multiples of their length or with a key's first request.",
      enum: ['epoch', 'first-request'],
      default: 'epoch',
    }),
    timeZone: word({
      description: 'Calendar windows: their time zone.',
      default: 'UTC',
      examples: ['Asia/Seoul'],
    }),
    countDenied: trueOrFalse({
      description: 'Windows: whether denied requests are charged too.',
      default: false,
    }),
  }
  const blockFor = quantity({
    description:
      'All but concurrency: how long a key is blocked when this limit denies it with nothing remaining.',
    examples: ['15m'],
  })
  const lease = flag({
    description:
      'Windows and token bucket: lets instances lease units of busy keys, so that hundreds of checks need one call to Redis. Every instance must have the same value.',
    default: false,
    examples: [true, { maxAge: '100ms', share: 0.05 }],
    additionalProperties: false,
    properties: {
      maxAge: quantity({
        description: 'How long leased units may be spent, 1ms to 60s.',
        default: '100ms',
      }),
      share: quantity({
        description: 'The fraction of the limit that all instances together may hold, above 0 and at most 1.',
        default: 0.05,
      }),
    },
  })
  const storeFailureOptions: Record<string, JsonSchema> = {
    onStoreFailure: word({
      description:
        'The decision while the store is unavailable: open allows, closed rejects with 503, local counts in this process.',
      enum: ['open', 'closed', 'local'],
      default: 'open',
    }),
    instances: wholeNumber({
      description:
        'Number of instances of the service that share the limit: with local, each allows its share. Leases use the larger of this and the number of instances on the store.',
      minimum: 1,
      default: 1,
    }),
  }
  const keyOptions: Record<string, JsonSchema> = {
    keys: word({
      description: 'How the dashboard shows keys: as they are, or only as hashes (secret).',
      enum: ['shown', 'secret'],
      default: 'shown',
    }),
  }
  const algorithm = word({
    title: 'an algorithm',
    description: 'The algorithm that counts.',
    enum: ALGORITHMS,
    examples: ['token-bucket'],
  })
  const needs = (algorithms: readonly string[], required: readonly string[]): JsonSchema => ({
    if: { required: ['algorithm'], properties: { algorithm: { enum: algorithms } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required },
  })
  const policy: JsonSchema = {
    type: 'object',
    description: 'An algorithm and its numbers.',
    additionalProperties: false,
    required: ['algorithm'],
    properties: {
      algorithm,
      ...numbers,
      ttl,
      ...windowOptions,
      blockFor,
      lease,
      ...storeFailureOptions,
      ...keyOptions,
    },
    allOf: [
      needs(WINDOWS, ['limit', 'window']),
      needs(['token-bucket'], ['capacity', 'refillRate']),
      needs(['leaky-bucket'], ['capacity', 'leakRate']),
      needs(['concurrency'], ['limit']),
    ],
  }
  const builtIns = Object.entries(BUILT_IN).map(([name, { algorithm, ...own }]): [string, JsonSchema] => {
    const changed = Object.entries(own).map(([field, value]) => [
      field,
      { ...numbers[field], default: value },
    ])
    const properties = {
      algorithm: word({ description: 'Cannot be changed.', enum: [algorithm], default: algorithm }),
      ...Object.fromEntries(changed),
      ...storeFailureOptions,
      ...keyOptions,
    }
    return [
      name,
      section(`The built-in ${algorithm} policy; omitted options keep their defaults.`, properties),
    ]
  })

  return {
    type: 'object',
    description: 'Policies by name: a-z, 0-9, _ and -, up to 64.',
    default: {},
    properties: Object.fromEntries(builtIns),
    additionalProperties: policy,
  }
}
