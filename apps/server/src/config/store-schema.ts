import type { JsonSchema, Values } from './json-schema.js'

export function storeSchema({ text, flag, whole, duration }: Values): JsonSchema {
  return {
    type: ['string', 'object'],
    minLength: 1,
    description:
      'Where counts are kept: memory, redis://, rediss://, redis+sentinel://h1,h2/name or redis+cluster://h1,h2; or an object with url and options.',
    default: 'memory',
    examples: ['redis://localhost:6379'],
    additionalProperties: false,
    properties: {
      url: text({
        description: 'memory, redis://, rediss://, redis+sentinel://h1,h2/name or redis+cluster://h1,h2.',
        default: 'memory',
        examples: ['redis://localhost:6379'],
      }),
      maxKeys: whole({
        description: 'memory: the most keys it remembers.',
        minimum: 1,
        maximum: 1_000_000_000,
        default: 1_000_000,
      }),
      username: text({ description: 'Redis: the user, if it is not in the URL.' }),
      password: text({ description: 'Redis: the password, if it is not in the URL.', writeOnly: true }),
      tls: flag({
        description:
          'Redis: true for TLS with Sentinel or Cluster, or an object with certificates of your own.',
        default: false,
        examples: [true],
        additionalProperties: false,
        properties: {
          ca: text({ description: 'The authority to trust, as PEM text.' }),
          cert: text({ description: 'The certificate to show, as PEM text.' }),
          key: text({ description: 'Its private key, as PEM text.', writeOnly: true }),
          serverName: text({ description: "The name the server's certificate must have." }),
        },
      }),
      prefix: text({
        description: 'Redis: what every key begins with; letters, digits and _.:-',
        pattern: '^[\\w.:-]{1,64}$',
        default: 'rate_limiter',
      }),
      maxBatch: whole({
        description: 'Redis: the most limits decided in one call.',
        minimum: 1,
        maximum: 1000,
        default: 64,
      }),
      deadline: duration({
        description: 'Redis: how long a check waits for its answer before onStoreFailure answers.',
        default: '50ms',
      }),
      connectTimeout: duration({
        description: 'Redis: how long to wait for a connection, and for any answer on it.',
        default: '1s',
      }),
      rememberRefusals: duration({
        description: 'Redis: how long a refusal is repeated without asking, at most; 0 always asks.',
        default: '1s',
      }),
    },
  }
}
