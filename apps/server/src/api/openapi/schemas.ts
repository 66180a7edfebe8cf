import { ALGORITHM_CHOICES, ALGORITHM_LABELS } from '../../algorithms.js'

/* Schemas of requests and responses. They validate bodies, serialize responses, and describe the API at /openapi.json. */

const ALGORITHM = {
  type: 'string',
  enum: Object.keys(ALGORITHM_CHOICES),
  description: 'A built-in policy, named by its algorithm. Cannot be combined with policy.',
} as const

/** The fields of a check, in a query or in a body. */
export const CHECK_FIELDS = {
  key: {
    type: 'string',
    description: "The key to check, 1 to 256 bytes. Default: ip: and the client's address.",
    examples: ['user:123'],
  },
  algorithm: ALGORITHM,
  policy: {
    type: 'string',
    description: 'The name of a policy. Default: the default policy of the configuration.',
  },
  permits: { type: 'integer', minimum: 1, description: 'Units to consume. Default: 1.' },
} as const

export const checkQuery = { type: 'object', additionalProperties: false, properties: CHECK_FIELDS } as const

export const noQuery = { type: 'object', additionalProperties: false, properties: {} } as const

export const checkBody = {
  title: 'Check',
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
    'timeMs',
  ],
  properties: {
    allowed: { type: 'boolean' },
    key: { type: 'string' },
    algorithm: { type: 'string', enum: ALGORITHM_LABELS },
    policy: { type: 'string' },
    limit: { type: 'integer' },
    remaining: {
      type: ['integer', 'null'],
      description: 'Units left; null while the store is unavailable.',
    },
    resetAfterSeconds: {
      type: ['integer', 'null'],
      description:
        'Seconds until the full limit is available, rounded up; null while the store is unavailable.',
    },
    retryAfterSeconds: {
      type: ['integer', 'null'],
      description: '0 if allowed, otherwise seconds until a retry can succeed, rounded up; null if unknown.',
    },
    message: { type: 'string' },
    timeMs: {
      type: ['number', 'null'],
      description:
        "The store's time at which the units were consumed, in milliseconds since 1970. A refund needs it. Null if nothing can be refunded.",
    },
    leased: {
      type: 'boolean',
      description: 'True if the units came from a lease, so that no store call was needed.',
    },
    degraded: {
      type: 'string',
      enum: ['open', 'closed', 'local'],
      description: 'The fallback that decided. Present only while the store is unavailable.',
    },
    reason: {
      type: 'string',
      enum: ['blocked', 'override', 'max-open', 'slot'],
      description:
        'The reason for a denial other than a reached limit: a blocked key, an override, too many open reservations, or no free slot.',
    },
  },
} as const

const error = {
  title: 'Error',
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', examples: ['bad_request'] },
    message: { type: 'string', description: 'What is wrong, and what is accepted.' },
    field: { type: 'string', description: 'The invalid field, such as permits or checks[3].key.' },
    retry_after: { type: 'integer', description: 'Seconds to wait before a retry.' },
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
  title: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail'],
  properties: { ...PROBLEM, ...error.properties },
} as const

/** An error response: JSON, or a problem document if the client prefers one. */
export function errors(description: string) {
  return {
    description,
    content: { 'application/json': { schema: error }, 'application/problem+json': { schema: problem } },
  }
}

/** A denial has the body of the check; as a problem document, also the members of RFC 9457. */
export function denials(
  description: string,
  schema: { title: string; properties: object; required?: readonly string[] },
) {
  const asProblem = {
    title: `${schema.title}Problem`,
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
/** No token is needed. */
export const PUBLIC = []
/** A token is required only if the configuration has callers. */
export const CALLER = [{}, ...ADMIN]

/** Like `CALLER`, for proxies, which send their token in a separate header. */
export const FORWARD_AUTH_CALLER = [{}, { forwardAuthToken: [] }]

/** The id of a reservation or of a slot. */
export const ID = { type: 'string', minLength: 1, maxLength: 128, examples: ['b0c1f6e2'] } as const

export const BAD_REQUEST = { 400: errors('The request is invalid; nothing was counted.') }
export const FOR_CALLERS = {
  401: errors("If the configuration has callers: the caller's token is missing or unknown."),
  403: errors('The caller may not use this key or policy.'),
}
export const FOR_ADMINS = {
  401: errors('The admin token is missing or wrong.'),
  403: errors('The request was sent by a page of another origin, or to a host name that is not allowed.'),
  429: errors('Too many wrong tokens from this address.'),
}
export const UNKNOWN_POLICY = { 404: errors('The policy does not exist.') }
export const BODY_ERRORS = {
  413: errors('The body is too large.'),
  415: errors('The body is not JSON.'),
}
export const STORE_UNAVAILABLE = {
  503: errors('Store unavailable; the outcome is unknown. Retry.'),
}
export const UNAVAILABLE = { 503: errors('Store unavailable, and onStoreFailure of the policy is closed.') }
