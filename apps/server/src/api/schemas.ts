import { ALGORITHM_CHOICES, ALGORITHM_LABELS } from '../algorithms.js'

/* What the routes take and answer: by these they are checked, written, and described at /openapi.json. */

const ALGORITHM = {
  type: 'string',
  enum: Object.keys(ALGORITHM_CHOICES),
  description: 'A built-in policy by its algorithm. Not together with policy.',
} as const

/** What `understand` takes; in a query, the same. */
export const QUESTION = {
  key: {
    type: 'string',
    description: "Who: 1 to 256 bytes. Default: ip: and the client's address.",
    examples: ['user:123'],
  },
  algorithm: ALGORITHM,
  policy: { type: 'string', description: 'The name of a policy. Default: the one that the file says.' },
  permits: { type: 'integer', minimum: 1, description: 'How many units to take. Default: 1.' },
} as const

export const questionQuery = { type: 'object', additionalProperties: false, properties: QUESTION } as const

export const noQuery = { type: 'object', additionalProperties: false, properties: {} } as const

export const checkBody = {
  type: 'object',
  required: [
    'allowed',
    'key',
    'algorithm',
    'policy',
    'limit',
    'remaining',
    'resetAfterSeconds',
    'retryAfterSeconds',
    'message',
  ],
  properties: {
    allowed: { type: 'boolean' },
    key: { type: 'string' },
    algorithm: { type: 'string', enum: ALGORITHM_LABELS },
    policy: { type: 'string' },
    limit: { type: 'integer' },
    remaining: {
      type: ['integer', 'null'],
      description: 'The most that would be allowed now; null if the store has not said.',
    },
    resetAfterSeconds: {
      type: ['integer', 'null'],
      description: 'Until all of it is there again, rounded up; null if the store has not said.',
    },
    retryAfterSeconds: {
      type: ['integer', 'null'],
      description: '0 if allowed; else when to ask again, rounded up; null if nobody knows.',
    },
    message: { type: 'string' },
    degraded: {
      type: 'string',
      enum: ['open', 'closed', 'local'],
      description: 'Only while the store fails: how this was answered without it.',
    },
  },
} as const

const error = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', examples: ['bad_request'] },
    message: { type: 'string', description: 'What is wrong, and what to do.' },
    field: { type: 'string', description: 'The field that is wrong, such as permits or checks[3].key.' },
    retry_after: { type: 'integer', description: 'Seconds.' },
  },
} as const

/** RFC 9457 */
const PROBLEM = {
  type: { type: 'string' },
  title: { type: 'string' },
  status: { type: 'integer' },
  detail: { type: 'string' },
  instance: { type: 'string' },
  retry_after: { type: 'integer' },
} as const

const problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail'],
  properties: { ...PROBLEM, ...error.properties },
} as const

/** An answer of errors: JSON, or a problem for whoever would rather have one. */
export function errors(description: string) {
  return {
    description,
    content: { 'application/json': { schema: error }, 'application/problem+json': { schema: problem } },
  }
}

/** A refusal says what the check says; as a problem, that and what RFC 9457 says. */
export function refusals(description: string, schema: { properties: object; required?: readonly string[] }) {
  const asProblem = {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', ...(schema.required ?? [])],
    properties: {
      ...PROBLEM,
      'violated-policies': { type: 'array', items: { type: 'string' } },
      ...schema.properties,
    },
  }
  return {
    description,
    content: { 'application/json': { schema }, 'application/problem+json': { schema: asProblem } },
  }
}

export const ADMIN = [{ token: [] }]
/** A token is needed only if there are callers in the file. */
export const CALLER = [{}, ...ADMIN]

export const BAD_REQUEST = { 400: errors('Something can never be right; nothing was counted.') }
export const FOR_CALLERS = {
  401: errors("With callers in the file: no caller's token, or none that is known."),
  403: errors('A key or a policy that is not for this caller.'),
}
export const FOR_ADMINS = {
  401: errors('The admin token is missing or wrong.'),
  403: errors('Sent by a page of another origin, or to a host name that is not accepted.'),
  429: errors('Too many wrong tokens from this address.'),
}
export const UNKNOWN_POLICY = { 404: errors('There is no such policy.') }
export const BODY_REFUSED = {
  413: errors('The body is too large.'),
  415: errors('The body is no JSON.'),
}
export const UNAVAILABLE = { 503: errors('The store does not answer, and the policy says closed.') }
