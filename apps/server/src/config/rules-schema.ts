import type { JsonSchema, Values } from './json-schema.js'

export function rulesSchema({ text, whole }: Values): JsonSchema {
  return {
    type: 'array',
    description:
      'Which requests are counted, under which key, by which policy. All that match are checked, all or nothing.',
    default: [],
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name', 'key', 'policy'],
      properties: {
        name: text({
          description: 'What it is called in answers.',
          maxLength: 64,
          examples: ['each user'],
        }),
        match: {
          type: 'object',
          description: 'Which requests. Default: all.',
          additionalProperties: false,
          properties: {
            path: {
              type: ['string', 'array'],
              description:
                'A path, or several: /login, /users/{id}, /files/* for one segment, /files/*.txt, /api/** for all below.',
              minItems: 1,
              minLength: 1,
              items: text({ examples: ['/login'] }),
              examples: ['/login'],
            },
            methods: {
              type: 'array',
              description: 'Methods, in capitals; GET also means HEAD.',
              minItems: 1,
              uniqueItems: true,
              items: text({ examples: ['POST'] }),
            },
            header: {
              type: 'object',
              description: 'Headers by name, and the value each must have.',
              additionalProperties: text({}),
            },
          },
        },
        key: text({
          description: "Who is counted, such as user:{header.x-user-id | 'anonymous'} or ip:{ip}.",
          examples: ['ip:{ip}'],
        }),
        policy: text({ description: 'The name of a policy.', examples: ['per-user'] }),
        cost: whole({ description: 'How many units such a request takes.', minimum: 1, default: 1 }),
      },
    },
  }
}
