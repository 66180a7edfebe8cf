import type { JsonSchema, Values } from '../../config-file/json-schema.js'

export function rulesSchema({ text, wholeNumber }: Values): JsonSchema {
  return {
    type: 'array',
    description:
      'The requests to count, their keys and their policies. All rules that match are checked, all or nothing.',
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'key', 'policy'],
      properties: {
        name: text({
          description: 'The name of the rule in responses.',
          maxLength: 64,
          examples: ['each user'],
        }),
        match: {
          type: 'object',
          description: 'Conditions on requests. Default: all requests.',
          additionalProperties: false,
          properties: {
            path: {
              type: ['string', 'array'],
              description:
                'A path, or several: /login, /users/{id}, /files/* for one segment, /files/*.txt, /api/** for all paths below.',
              minItems: 1,
              minLength: 1,
              items: text({ examples: ['/login'] }),
              examples: ['/login'],
            },
            methods: {
              type: 'array',
              description: 'Methods in upper case; GET includes HEAD.',
              minItems: 1,
              uniqueItems: true,
              items: text({ examples: ['POST'] }),
            },
            header: {
              type: 'object',
              description: 'Required values of headers, by name.',
              additionalProperties: text({}),
            },
          },
        },
        key: text({
          description: "The key to count, such as user:{header.x-user-id | 'anonymous'} or ip:{ip}.",
          examples: ['ip:{ip}'],
        }),
        policy: text({ description: 'The name of a policy.', examples: ['per-user'] }),
        cost: wholeNumber({ description: 'Units that a request takes.', minimum: 1, default: 1 }),
      },
    },
  }
}
