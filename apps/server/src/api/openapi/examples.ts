/** The examples of an operation: its request body, and its responses by status. */
interface OperationExamples {
  readonly request?: unknown
  readonly response?: Readonly<Record<string, unknown>>
}

const ALLOWED = {
  allowed: true,
  key: 'user:123',
  algorithm: 'TOKEN_BUCKET',
  policy: 'token_bucket',
  limit: 100,
  remaining: 99,
  resetAfterSeconds: 1,
  retryAfterSeconds: 0,
  message: 'Request allowed',
  timeMs: 1767225600000.125,
}

const DENIED = {
  ...ALLOWED,
  allowed: false,
  remaining: 0,
  resetAfterSeconds: 10,
  retryAfterSeconds: 1,
  message: 'Rate limit exceeded',
}

const NOT_COUNTED = {
  ...ALLOWED,
  key: 'user:456',
  remaining: 42,
  message: 'Not counted: another limit denied',
}

const RESERVED = {
  ...ALLOWED,
  key: 'team:7',
  algorithm: 'FIXED_WINDOW',
  policy: 'tokens-per-minute',
  limit: 100_000,
  remaining: 98_200,
  resetAfterSeconds: 42,
  id: 'chat-7f3a',
  reserved: 1800,
}

const IN_FLIGHT = {
  ...ALLOWED,
  key: 'report:7',
  algorithm: 'CONCURRENCY',
  policy: 'reports',
  limit: 5,
  remaining: 4,
  resetAfterSeconds: 30,
}

const INVALID_PERMITS = {
  error: 'bad_request',
  message: 'permits must be a whole number of at least 1, got 0.',
  field: 'permits',
}

const TOO_MANY_REQUESTS = {
  error: 'rate_limit_exceeded',
  message: 'Too many requests. Please retry after 6 seconds.',
  retry_after: 6,
}

const HEALTH = {
  status: 'UP',
  components: { store: { status: 'UP', details: { kind: 'redis', latencyMs: 0.412 } } },
}

/** By operationId. `openapi.test.ts` holds them against their schemas. */
export const EXAMPLES: Readonly<Record<string, OperationExamples>> = {
  checkKey: { response: { 200: ALLOWED, 400: INVALID_PERMITS, 429: DENIED } },
  check: {
    request: { key: 'user:123', permits: 1 },
    response: { 200: ALLOWED, 400: INVALID_PERMITS, 429: DENIED },
  },
  checkBatch: {
    request: { checks: [{ key: 'user:123' }, { key: 'user:456', permits: 5 }], atomic: true },
    response: {
      200: { allowed: true, results: [ALLOWED, { ...ALLOWED, key: 'user:456', remaining: 95 }] },
      429: { allowed: false, results: [DENIED, NOT_COUNTED] },
    },
  },
  getRemaining: { response: { 200: { ...ALLOWED, message: 'Request would be allowed' } } },
  refund: {
    request: { key: 'user:123', permits: 1, timeMs: 1767225600000.125 },
    response: { 200: { refunded: 1 } },
  },
  reserve: {
    request: { key: 'team:7', policy: 'tokens-per-minute', permits: 1800, id: 'chat-7f3a', ttl: '10m' },
    response: {
      200: RESERVED,
      409: {
        error: 'conflict',
        message:
          'The reservation id "chat-7f3a" was used before: its reservation has ended, or has other units. Use a new id for each reservation.',
        field: 'id',
      },
      429: {
        ...RESERVED,
        allowed: false,
        remaining: 120,
        retryAfterSeconds: 42,
        message: 'Rate limit exceeded',
        reserved: 0,
      },
    },
  },
  settle: {
    request: { key: 'team:7', policy: 'tokens-per-minute', id: 'chat-7f3a', actual: 1203 },
    response: { 200: { settled: true, refunded: 597, charged: 0, overBy: 0 } },
  },
  cancel: {
    request: { key: 'team:7', policy: 'tokens-per-minute', id: 'chat-7f3a' },
    response: { 200: { settled: false, reason: 'ended' } },
  },
  acquire: {
    request: { key: 'report:7', policy: 'reports' },
    response: {
      200: { ...IN_FLIGHT, id: 'b0c1f6e2', ttlSeconds: 30 },
      429: {
        ...IN_FLIGHT,
        allowed: false,
        remaining: 0,
        retryAfterSeconds: 1,
        message: 'Too many requests in flight',
        reason: 'slot',
      },
    },
  },
  release: {
    request: { key: 'report:7', policy: 'reports', id: 'b0c1f6e2' },
    response: { 200: { released: true } },
  },
  renew: {
    request: { slots: [{ key: 'report:7', policy: 'reports', id: 'b0c1f6e2' }] },
    response: { 200: { results: [{ renewed: true }] } },
  },
  forwardAuth: {
    response: {
      400: {
        error: 'bad_request',
        message:
          "X-Forwarded-Uri is missing. Let the proxy set it to the client's path and query. See docs/operators/forward-auth.md.",
        field: 'X-Forwarded-Uri',
      },
      429: TOO_MANY_REQUESTS,
    },
  },
  resetKey: { response: { 200: { key: 'user:123', policies: ['token_bucket'], message: 'Reset' } } },
  listPolicies: {
    response: {
      200: {
        default: 'per-user',
        policies: [
          {
            name: 'per-user',
            algorithm: 'SLIDING_WINDOW_COUNTER',
            limit: 100,
            window: 60_000,
            onStoreFailure: 'local',
            instances: 2,
            keys: 'shown',
            from: { kind: 'file', line: 3 },
          },
        ],
        rules: [
          {
            name: 'login',
            match: { path: ['/login'], methods: ['POST'] },
            key: 'ip:{ip}',
            policy: 'per-user',
            cost: 1,
            from: { kind: 'file', line: 5 },
          },
        ],
        routes: [],
        lastReload: null,
      },
    },
  },
  streamLive: {
    response: { 200: 'event: live\ndata: {"timeMs":1767225600000,"seconds":1,"state":"well"}\n\n' },
  },
  getKey: {
    response: {
      200: {
        key: 'user:123',
        policies: [
          {
            policy: 'token_bucket',
            algorithm: 'TOKEN_BUCKET',
            limit: 100,
            allowed: true,
            remaining: 99,
            retryAfterMs: 0,
            resetAfterMs: 100,
            ahead: [{ afterMs: 100, remaining: 100 }],
          },
        ],
      },
    },
  },
  runRace: {
    request: { callers: 50, limit: 10 },
    response: {
      200: {
        callers: 50,
        limit: 10,
        store: 'redis',
        pauseMs: 0,
        naive: { admitted: 50, tooMany: 40, tookMs: 4.2 },
        ours: { admitted: 10, tooMany: 0, tookMs: 2.1 },
      },
    },
  },
  getHealth: { response: { 200: HEALTH } },
  getReadiness: { response: { 200: HEALTH } },
  getInfo: {
    response: {
      200: {
        app: { name: 'tidegate', version: '1.0.0' },
        algorithms: [
          'TOKEN_BUCKET',
          'SLIDING_WINDOW',
          'SLIDING_WINDOW_COUNTER',
          'FIXED_WINDOW',
          'LEAKY_BUCKET',
        ],
        store: { kind: 'redis' },
      },
    },
  },
  getMetrics: {
    response: {
      200: 'rate_limiter_policy_requests_total{policy="per-user",allowed="true"} 1027\n',
    },
  },
}
