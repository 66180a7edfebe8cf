import type { JsonSchema, Values } from '../../config-file/json-schema.js'

export function storeSchema({ text, flag, wholeNumber, duration }: Values): JsonSchema {
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
      maxKeys: wholeNumber({
        description: 'memory: maximum number of keys.',
        minimum: 1,
        maximum: 1_000_000_000,
        default: 1_000_000,
      }),
      username: text({ description: 'Redis: the user, if it is not in the URL.' }),
      password: text({ description: 'Redis: the password, if it is not in the URL.', writeOnly: true }),
      tls: flag({
        description: 'Redis: true for TLS with Sentinel or Cluster, or an object with your own certificates.',
        default: false,
        examples: [true],
        additionalProperties: false,
        properties: {
          ca: text({ description: 'The certificate authority to trust, as PEM text.' }),
          cert: text({ description: 'The client certificate, as PEM text.' }),
          key: text({ description: 'Its private key, as PEM text.', writeOnly: true }),
          serverName: text({ description: "The name that the server's certificate must have." }),
        },
      }),
      prefix: text({
        title: 'a prefix of 1 to 64 letters, digits, "_", ".", ":" and "-"',
        description: 'Redis: prefix of every key; letters, digits and _.:-',
        pattern: '^[\\w.:-]{1,64}$',
        default: 'rate_limiter',
      }),
      maxBatch: wholeNumber({
        description: 'Redis: maximum number of limits in one call.',
        minimum: 1,
        maximum: 1000,
        default: 64,
      }),
      deadline: duration({
        description: 'Redis: timeout of a check; afterwards onStoreFailure decides.',
        default: '50ms',
      }),
      connectTimeout: duration({
        description: 'Redis: timeout of a connection attempt, and of any response.',
        default: '1s',
      }),
      denialCache: duration({
        description: 'Redis: maximum age of a cached denial; 0 turns the cache off.',
        default: '1s',
      }),
    },
  }
}
